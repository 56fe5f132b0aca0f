// A workload of the speed comparison in htsim, with the parameters of crates/sim/benches/workloads/mod.rs. Arguments
// and output are those of crates/sim/examples/throughput.rs: `w1-min reno 8 600`.
//
// The choices that the workloads leave open are in htsim's favor:
// - The time is that of the event loop, without the set-up and without destructors.
// - Nothing is logged or printed.
// - Flows of equal delay share a pipe. Packets arrive at the same times as through pipes of their own, and the tree of
//   pending events is smaller.
// - The initial ssthresh is htsim's, 100 packets. Without one, the first overflow loses half a window, of which Reno
//   without SACK repairs one packet per RTT.

#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "config.h"
#include "dctcp.h"
#include "ecnqueue.h"
#include "eventlist.h"
#include "network.h"
#include "pipe.h"
#include "queue.h"
#include "tcp.h"

namespace {

// htsim counts picoseconds.
constexpr simtime_picosec US = 1'000'000, MS = 1'000 * US, S = 1'000 * MS;
constexpr linkspeed_bps GBPS = 1'000'000'000;

struct Shape {
    linkspeed_bps rate;
    simtime_picosec rtt;
    int packet;
    int buffer_packets;
    // Packets in the queue above which it marks; 0: it does not mark.
    int mark_above;
    // Spread of the flows' rtprops, percent of `rtt`.
    unsigned spread_percent;
    // Flow i starts at rtt (1 + 13 (i mod start_modulus)) / start_divisor.
    unsigned start_modulus, start_divisor;
    // Whether there are an access link, an exit link, and both links for ACKs, too.
    bool full;
};

const std::map<std::string, Shape> SHAPES = {
    {"w1-min", {GBPS / 10, 50 * MS, 1500, 416, 0, 100, ~0U, 100, false}},
    {"w1-full", {GBPS / 10, 50 * MS, 1500, 416, 0, 0, ~0U, 100, true}},
    {"w2-min", {100 * GBPS, 12 * US, 4096, 200, 60, 0, ~0U, 100, false}},
    {"w3", {10 * GBPS, 50 * MS, 1500, 41'666, 0, 100, 200, 1000, false}},
};

// htsim checks the timeouts of all flows at this interval, as its own programs do.
constexpr simtime_picosec TIMEOUT_SCAN = 10 * MS;

// Objects live until the process ends: htsim refers to them by address.
class Network {
public:
    explicit Network(const Shape &shape)
        : shape_(shape), events_(EventList::getTheEventList()), scanner_(TIMEOUT_SCAN, events_)
    {
        const mem_b buffer = bytes(shape.buffer_packets);
        if (shape.mark_above)
            bottleneck_ = new ECNQueue(shape.rate, buffer, events_, nullptr, bytes(shape.mark_above));
        else
            bottleneck_ = new Queue(shape.rate, buffer, events_, nullptr);
        acks_ = new Queue(shape.rate, buffer, events_, nullptr);
    }

    void add_flow(const std::string &cca, unsigned index, unsigned flows)
    {
        const bool is_dctcp = cca == "dctcp";
        TcpSrc *source = is_dctcp ? new DCTCPSrc(nullptr, nullptr, events_) : new TcpSrc(nullptr, nullptr, events_);
        TcpSink *sink = new TcpSink();
        scanner_.registerTcp(*source);
        const simtime_picosec rtprop = shape_.rtt + shape_.rtt * shape_.spread_percent * index / (100 * flows);
        Route *out = shape_.full ? full(bottleneck_, sink) : new Route();
        Route *back = shape_.full ? full(acks_, source) : new Route();
        if (!shape_.full) {
            append(out, {bottleneck_, pipe(rtprop / 2), sink});
            append(back, {pipe(rtprop - rtprop / 2), source});
        }
        const simtime_picosec start = shape_.rtt * (1 + 13 * (index % shape_.start_modulus)) / shape_.start_divisor;
        source->connect(*out, *back, *sink, start);
        sources_.push_back(source);
        sinks_.push_back(sink);
    }

    // Data packets that are acknowledged cumulatively.
    uint64_t acknowledged() const
    {
        uint64_t packets = 0;
        for (const TcpSrc *source : sources_)
            packets += source->_last_acked / shape_.packet;
        return packets;
    }

    // Bytes that receivers got, copies included.
    uint64_t received() const
    {
        uint64_t sum = 0;
        for (const TcpSink *sink : sinks_)
            sum += sink->_packets;
        return sum;
    }

private:
    mem_b bytes(int packets) const { return mem_b(packets) * shape_.packet; }

    Pipe *pipe(simtime_picosec delay)
    {
        Pipe *&known = pipes_[delay];
        if (!known)
            known = new Pipe(delay, events_);
        return known;
    }

    static void append(Route *route, const std::vector<PacketSink *> &hops)
    {
        for (PacketSink *hop : hops)
            route->push_back(hop);
    }

    // Access link, a shared link, exit link, and their delays.
    Route *full(Queue *shared, PacketSink *end)
    {
        auto access = [&] { return new Queue(GBPS, bytes(100'000), events_, nullptr); };
        Route *route = new Route();
        append(route, {access(), pipe(2 * MS), shared, pipe(21 * MS), access(), pipe(2 * MS), end});
        return route;
    }

    const Shape &shape_;
    EventList &events_;
    TcpRtxTimerScanner scanner_;
    Queue *bottleneck_, *acks_;
    std::map<simtime_picosec, Pipe *> pipes_;
    std::vector<TcpSrc *> sources_;
    std::vector<TcpSink *> sinks_;
};

} // namespace

int main(int argc, char **argv)
{
    const std::vector<std::string> words(argv + 1, argv + argc);
    if (words.size() != 4 || !SHAPES.count(words[0]) || (words[1] != "reno" && words[1] != "dctcp")) {
        std::fprintf(stderr, "usage: htsim w1-min|w1-full|w2-min|w3 reno|dctcp FLOWS SIMULATED_SECONDS\n");
        return 2;
    }
    const Shape &shape = SHAPES.at(words[0]);
    const unsigned flows = std::stoul(words[2]);
    const double seconds = std::stod(words[3]);

    // Both must be set before anything reads them or is scheduled.
    Packet::set_packet_size(shape.packet);
    EventList::setEndtime(simtime_picosec(seconds * S));
    Network &network = *new Network(shape);
    for (unsigned i = 0; i < flows; i++)
        network.add_flow(words[1], i, flows);
    std::cout.setstate(std::ios::failbit); // lines about timeouts

    uint64_t events = 0;
    const auto started = std::chrono::steady_clock::now();
    while (EventList::doNextEvent())
        events++;
    const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();

    const uint64_t packets = network.acknowledged();
    std::printf("%s %s flows=%u: %" PRIu64 " packets, %" PRIu64 " events, ", words[0].c_str(), words[1].c_str(), flows,
                packets, events);
    std::printf("%.3f s, %.2f Mpkt/s, %.1f ns/pkt, utilization %.4f\n", wall, packets / wall / 1e6,
                wall * 1e9 / packets, network.received() * 8.0 / (shape.rate * seconds));
    std::fflush(stdout);
    std::_Exit(0); // without destructors
}

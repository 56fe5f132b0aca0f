// Bundles the front end for the Python package: one script and one style sheet per page, minified, without external addresses.
import { build } from "esbuild";
import { readFileSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const out = new URL("../python/fairweir/show/bundles/", import.meta.url).pathname;

await build({
  entryPoints: { viewer: "viewer/main.ts", studio: "studio/main.ts", commands: "studio/commands.ts", gallery: "studio/gallery.ts" },
  outdir: out,
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  legalComments: "none",
  charset: "utf8",
  logLevel: "warning",
  loader: { ".css": "css" },
});

// Plotly's figures of points and heat maps, compressed to less than half: pages decompress it (show/templates/page.js).
const plotly = readFileSync(new URL("node_modules/plotly.js-cartesian-dist-min/plotly-cartesian.min.js", import.meta.url));
writeFileSync(`${out}plotly.gz.b64`, gzipSync(plotly, { level: 9 }).toString("base64"));

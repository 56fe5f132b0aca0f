// Bundles the front end for the Python package: one script and one style sheet per page, minified, without external addresses.
import { build } from "esbuild";

const out = new URL("../python/fairweir/show/bundles/", import.meta.url).pathname;

await build({
  entryPoints: { viewer: "viewer/main.ts", studio: "studio/main.ts" },
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

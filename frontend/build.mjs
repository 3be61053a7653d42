// Bundles src/ and styles/ into dist/: one ES module for each kind of page, chunks they share,
// style sheets, and a manifest that names each file's content so that URLs can carry a version.
import { createHash } from "node:crypto";
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";
import { narrowMargin } from "./codemirror.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const dist = join(here, "dist");
const watching = process.argv.includes("--watch");

// Plotly's map code brings a style sheet of its own along; nothing here draws maps. A ninth of the
// rest describes its options, for its documentation.
const TEXT = /'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`[^`]*`/.source;
const DESCRIPTION = new RegExp(
  `\\bdescription: (?:${TEXT}|\\[\\s*(?:(?:${TEXT}),?\\s*)*\\]\\.join\\(' '\\))(?=,?\\n)`,
  "g",
);
const slimPlotly = {
  name: "slim-plotly",
  setup: (build) => {
    build.onLoad({ filter: /node_modules.*\.css$/ }, () => ({ contents: "", loader: "empty" }));
    build.onLoad({ filter: /plotly\.js\/src\/.*\.js$/ }, async ({ path }) => ({
      contents: (await readFile(path, "utf8")).replaceAll(DESCRIPTION, 'description: ""'),
    }));
  },
};

const bundle = {
  absWorkingDir: here,
  outdir: "dist",
  metafile: true,
  bundle: true,
  format: "esm",
  target: ["es2022"],
  minify: !watching,
  sourcemap: watching,
  legalComments: "eof",
  define: { global: "globalThis" },
  plugins: [slimPlotly, narrowMargin],
  logLevel: "warning",
  splitting: true,
  chunkNames: "chunks/[name]-[hash]",
  entryPoints: {
    app: "src/page/main.ts",
    beside: "src/explorer/beside/main.ts",
    charts: "src/charts/time.ts",
    compile: "src/compile/main.ts",
    explorer: "src/explorer/main.ts",
    history: "src/charts/history.ts",
    judge: "src/judge/main.ts",
    memory: "src/charts/memory.ts",
    numbers: "src/charts/numbers.ts",
    play: "src/play/main.ts",
    roofline: "src/charts/roofline.ts",
    sql: "src/charts/sql.ts",
    timeline: "src/timeline/main.ts",
    "time-table": "src/charts/time-table.ts",
    styles: "styles/app.css",
  },
};

async function filesBelow(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && !entry.name.startsWith("."))
    .map((entry) => relative(folder, join(entry.parentPath ?? entry.path, entry.name)))
    .sort();
}

async function writeManifest() {
  const manifest = {};
  for (const file of await filesBelow(dist)) {
    if (file === "manifest.json") continue;
    const content = await readFile(join(dist, file));
    manifest[file] = createHash("sha256").update(content).digest("hex").slice(0, 12);
  }
  await writeFile(join(dist, "manifest.json"), `${JSON.stringify(manifest, null, 1)}\n`);
}

/** What each entry imports, and what that imports: pages name it, so that it is fetched at once. */
async function writeImports(outputs) {
  const below = (file, found = new Set()) => {
    for (const { path, kind } of outputs[file]?.imports ?? []) {
      if (kind !== "import-statement" || found.has(path)) continue;
      found.add(path);
      below(path, found);
    }
    return found;
  };
  const imports = {};
  for (const [file, { entryPoint }] of Object.entries(outputs)) {
    if (!entryPoint || !file.endsWith(".js")) continue;
    imports[relative("dist", file)] = [...below(file)].map((path) => relative("dist", path)).sort();
  }
  await writeFile(join(dist, "imports.json"), `${JSON.stringify(imports, null, 1)}\n`);
}

async function copyPlotlyStyles() {
  // Plotly cannot add its rules itself under the content policy; the page links them.
  await copyFile(join(here, "node_modules/plotly.js/dist/plotly.css"), join(dist, "plotly.css"));
}

// An exported file holds its script inline, which can import nothing.
const buildFile = () =>
  esbuild.build({ ...bundle, splitting: false, entryPoints: { file: "src/file/main.ts" } });

async function finish({ outputs }) {
  await Promise.all([copyPlotlyStyles(), buildFile()]);
  await writeImports(outputs);
  await writeManifest();
}

await rm(dist, { recursive: true, force: true });
await mkdir(dist, { recursive: true });
if (watching) {
  const manifest = {
    name: "manifest",
    setup: (build) => build.onEnd(({ metafile }) => finish(metafile)),
  };
  const context = await esbuild.context({ ...bundle, plugins: [...bundle.plugins, manifest] });
  await context.watch();
} else {
  const { metafile } = await esbuild.build(bundle);
  await finish(metafile);
}

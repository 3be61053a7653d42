// Bundles each test with what it imports and hands them to Node's own test runner.
import { spawnSync } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const tests = (await readdir(join(here, "test"))).filter((name) => name.endsWith(".test.ts"));
const into = await mkdtemp(join(tmpdir(), "inductorscope-frontend-"));
try {
  await esbuild.build({
    absWorkingDir: here,
    entryPoints: tests.map((name) => join("test", name)),
    outdir: into,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    platform: "node",
    format: "esm",
    logLevel: "warning",
  });
  const files = tests.map((name) => join(into, name.replace(/\.ts$/, ".mjs")));
  const ran = spawnSync(process.execPath, ["--test", ...files], { stdio: "inherit" });
  process.exitCode = ran.status ?? 1;
} finally {
  await rm(into, { recursive: true, force: true });
}

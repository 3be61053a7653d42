// Highlights code with one regular expression per language. Kernels are inside strings of
// `output_code.py`, slices begin in the middle of files, and files have megabytes: a grammar would
// colour kernels wrongly and large files late. Pure.

const PYTHON_WORDS =
  "and|as|assert|async|await|break|class|continue|def|del|elif|else|except|finally|for|from|" +
  "global|if|import|in|is|lambda|nonlocal|not|or|pass|raise|return|try|while|with|yield|" +
  "None|True|False|self";
const CPP_WORDS =
  "auto|bool|break|case|const|constexpr|continue|default|do|double|else|extern|float|for|if|inline|" +
  "int|int8_t|int16_t|int32_t|int64_t|uint8_t|uint16_t|uint32_t|uint64_t|long|namespace|new|return|" +
  "short|signed|sizeof|static|static_cast|struct|switch|template|true|false|typedef|typename|" +
  "unsigned|using|void|volatile|while|bfloat16|half";

const TEXT = String.raw`"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'`;
const NUMBER = String.raw`\b(?:0x[\da-fA-F]+|\d+\.?\d*(?:e[+-]?\d+)?[fLu]*)\b`;
const CALLED = String.raw`[A-Za-z_][\w.]*(?=\()`;

function pattern(comment: string, words: string): RegExp {
  return new RegExp(`(${comment})|(${TEXT})|\\b(${words})\\b|(${NUMBER})|(${CALLED})`, "g");
}

const PYTHON = pattern("#.*", PYTHON_WORDS);
const CPP = pattern("//.*|#pragma.*|#include.*", CPP_WORDS);
const PATTERNS: Record<string, RegExp> = { python: PYTHON, ir: PYTHON, cpp: CPP };

/** In the order of the pattern's groups. */
export const TOKENS = ["comment", "string", "keyword", "number", "call"] as const;

export function isColoured(language: string): boolean {
  return language in PATTERNS;
}

/** Calls `add` with each token of a line: its start and end, and its position in `TOKENS`. */
export function tokenise(
  text: string,
  language: string,
  add: (from: number, to: number, token: number) => void,
): void {
  const pattern = PATTERNS[language];
  if (!pattern) return;
  pattern.lastIndex = 0;
  for (let found = pattern.exec(text); found; found = pattern.exec(text)) {
    const group = found.findIndex((part, at) => at > 0 && part !== undefined);
    if (group > 0) add(found.index, found.index + found[0].length, group - 1);
  }
}

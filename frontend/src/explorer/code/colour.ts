// Colours for code, by one pattern a language over the lines in view. Kernels lie inside strings of
// `output_code.py`, slices begin in the middle of files, and files have megabytes: a grammar would
// colour the first wrongly and the last late.
import type { Extension } from "@codemirror/state";
import { Decoration } from "@codemirror/view";
import { type Decorate, visibleLines } from "./visible-lines";

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

/** Group of the pattern to class. */
const MARKS = ["comment", "string", "keyword", "number", "call"].map((name) =>
  Decoration.mark({ class: `tok-${name}` }),
);

/** Beyond this many characters a line is left plain. */
const LONGEST = 4000;

function colourLine(add: Parameters<Decorate>[0], text: string, from: number, of: RegExp): void {
  of.lastIndex = 0;
  for (let found = of.exec(text); found; found = of.exec(text)) {
    const group = found.findIndex((part, at) => at > 0 && part !== undefined);
    const mark = MARKS[group - 1];
    if (mark) add(from + found.index, from + found.index + found[0].length, mark);
  }
}

const made = new Map<string, Extension>();

function colouredBy(tokens: RegExp): Extension {
  return visibleLines((add, { text, from }) => {
    colourLine(add, text.slice(0, LONGEST), from, tokens);
  });
}

/** The same for all texts of a language: a view that turns to another one keeps it. */
export function coloured(language: string): Extension {
  const tokens = PATTERNS[language];
  if (!tokens) return [];
  const extension = made.get(language) ?? colouredBy(tokens);
  made.set(language, extension);
  return extension;
}

/** Parses the lines of `error.stack`, whose format depends on the engine. */

/** A position in running code, as a stack names it. */
export interface CodePosition {
  /** A URL or file path. */
  readonly file: string;
  /** 1-based. */
  readonly line: number;
  /** 1-based. */
  readonly column: number;
}

/** V8: `    at name (position)`; the name may be missing, with or without parentheses. */
const v8Line = /^\s*at (?:(?:.*? )?\((.*)\)|(?:async )?(.*))$/;
/** Firefox and Safari: `name@position`; the name may be empty. */
const geckoLine = /^[^@]*@(.*)$/;
const position = /^((?:[a-z][a-z0-9+.-]*:|\/|\\\\).*):(\d+):(\d+)$/i;

/** Whether a line has V8's format, which puts the error's message above such lines. */
export const isV8Line = (text: string): boolean => /^\s+at /.test(text);

/**
 * Returns the position of a frame. Undefined for lines without one: messages, native and evaluated code,
 * WebAssembly, and Node's modules.
 */
export function positionInStackLine(text: string): CodePosition | undefined {
  const v8 = v8Line.exec(text);
  const location = v8 ? (v8[1] ?? v8[2]!) : geckoLine.exec(text)?.[1];
  const found = location === undefined ? null : position.exec(location);
  if (!found) return undefined;
  const [, file, line, column] = found;
  if (/^(?:node|wasm):/.test(file!) || isEvaluated(file!)) return undefined;
  return { file: file!, line: Number(line), column: Number(column) };
}

/**
 * Whether the file is evaluated code: `page.js line 3 > eval` in Firefox, `eval at f (page.js:3:1), <anonymous>` in V8.
 */
const isEvaluated = (file: string): boolean => /^eval at /.test(file) || / line \d+ > /.test(file);

/** Returns the position of the code that owns the frame; for evaluated code, of the code that evaluated it. */
export function ownerInStackLine(text: string): CodePosition | undefined {
  const v8 = /\(eval at .*?\(([^()]+)\)/.exec(text);
  if (v8) return positionInStackLine(`    at ${v8[1]}`);
  const gecko = /^[^@]*@(.*?) line (\d+) > /.exec(text);
  if (gecko) return { file: gecko[1]!, line: Number(gecko[2]), column: 1 };
  return positionInStackLine(text);
}

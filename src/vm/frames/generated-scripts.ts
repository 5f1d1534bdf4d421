/** Maps positions in generated code, which V8 puts into stacks, back to instructions. */

import { publishedScheme } from '../../../runtime/errors/own-code.ts';
import type { Code } from '../bytecode/code.ts';
import type { Pc } from '../bytecode/instructions.ts';

/** Writes the text. `marksPcs`: with `pcMark` before the first statement of each instruction. */
type WriteText = (code: Code, marksPcs: boolean) => string;

interface Script {
  readonly code: WeakRef<Code>;
  readonly write: WriteText;
  readonly isFunction: boolean;
}

/** By number. Without a prototype, since scripts may define elements and methods on prototypes. */
const scripts: Record<number, Script> = Object.create(null);
let count = 0;
const Reference = WeakRef;
const folder = `${publishedScheme}src/vm/generated/`;

/** No generated text contains it, since literals escape the character. */
export const pcMark = (pc: Pc): string => `\0${pc}\0`;

/**
 * Returns the generated text of a code with a name for its script. `isFunction`: its frames on the engine's stack have
 * the names of the user's functions.
 */
export function scriptText(code: Code, isFunction: boolean, write: WriteText): string {
  const number = count++;
  scripts[number] = { code: new Reference(code), write, isFunction };
  return `${write(code, false)}\n//# sourceURL=${folder}${number}`;
}

/** An activation of generated code. */
interface GeneratedFrame {
  readonly code: Code;
  readonly pc: Pc;
  /** The engine's name for the function; undefined for a machine, whose name says nothing. */
  readonly name: string | undefined;
}

/** Returns the activation that a line of a stack represents. */
export function generatedFrameOf(line: string): GeneratedFrame | undefined {
  const start = line.indexOf(folder);
  if (start < 0) return undefined;
  const [index, row, column] = line
    .slice(start + folder.length)
    .split(':', 3)
    .map(parseFloat);
  const script = scripts[index!];
  const code = script?.code.deref();
  if (!code) return undefined;
  const pc = pcAt(script!.write, code, row!, column!);
  if (pc === undefined) return undefined;
  const name = /^\s+at (?:async )?(.*) \($/.exec(line.slice(0, start))?.[1];
  return { code, pc, name: script!.isFunction ? name : undefined };
}

/** The lines that the engine puts above the body of a function created by `Function`. */
const linesAbove = 2;

function pcAt(write: WriteText, code: Code, row: number, column: number): Pc | undefined {
  const [plain, marked] = [write(code, false), write(code, true)];
  const marks = /\0(\d+)\0/g;
  if (marked.replace(marks, '') !== plain) return undefined; // a template of the user's has such characters
  const above = plain.split('\n').slice(0, row - 1 - linesAbove);
  let rest = above.reduce((sum, each) => sum + each.length + 1, column - 1);
  let pc: Pc | undefined;
  let end = 0;
  for (const { 0: mark, 1: digits, index } of marked.matchAll(marks)) {
    rest -= index - end;
    if (rest < 0) break;
    pc = Number(digits);
    end = index + mark.length;
  }
  return pc;
}

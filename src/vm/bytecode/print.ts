import type { Code } from './code.ts';
import type { Instruction, InstructionOf, Opcode, Pc, Primitive, Reg } from './instructions.ts';
import { liveBefore } from './liveness.ts';

/**
 * Returns the text of a code. Deterministic: no ids, addresses or times.
 *
 *   code        = header line* region* inner*
 *   header      = ['async'] ['generator'] kind name '(' parameterCount ')' ['registers' (register '=' name)*]
 *                 ['cells' name*]
 *   line        = pc '  ' instruction '  # ' line ':' column ' ' source
 *                 ['  live' register*]
 *   region      = 'try' pc '–' pc '→' pc 'error' register
 *   instruction = [register '='] opcode operands
 *   register    = 'r' number
 *   target      = '→' pc
 *   inner       = code, indented, after '[' number '] '
 */
export function printCode(code: Code, options: { live?: boolean } = {}): string {
  const live = options.live ? liveBefore(code) : undefined;
  const texts = code.instructions.map(printInstruction);
  const width = Math.min(48, Math.max(...texts.map((text) => text.length)));
  const digits = String(code.instructions.length - 1).length;
  const lines = texts.map((text, pc) => {
    const line = `${String(pc).padStart(digits)}  ${text.padEnd(width)}  # ${place(code, pc)}`;
    return live ? `${line}  live ${list([...live[pc]!])}`.trimEnd() : line;
  });
  const inner = code.inner.map((each, index) =>
    indent(`[${index}] ${printCode(each, options)}`, '    '),
  );
  const regions = code.regions.map(
    ({ start, end, target, error }) => `try ${start}–${end - 1} → ${target} error r${error}`,
  );
  return [header(code), ...lines, ...regions, ...inner].join('\n');
}

function header(code: Code): string {
  const names = code.registerNames.flatMap((name, index) => (name ? [`r${index}=${name}`] : []));
  return [
    `${code.isAsync ? 'async ' : ''}${code.isGenerator ? 'generator ' : ''}${code.kind} ${code.name || '<anonymous>'}(${code.parameterCount})`,
    ...(names.length > 0 ? [`registers ${names.join(' ')}`] : []),
    ...(code.outerCells.length > 0 ? [`cells ${code.outerCells.join(' ')}`] : []),
  ].join('  ');
}

function place(code: Code, pc: Pc): string {
  const span = code.spans[pc]!;
  const { line, column } = code.source.position(span.start);
  const text = code.source.text.slice(span.start, span.end);
  const oneLine = text.replace(/\s+/g, ' ');
  const short = oneLine.length > 40 ? `${oneLine.slice(0, 39)}…` : oneLine;
  return `${line}:${column} ${short}`.trimEnd();
}

const indent = (text: string, by: string): string =>
  text
    .split('\n')
    .map((line) => by + line)
    .join('\n');

const list = (registers: readonly Reg[]): string => registers.map((r) => `r${r}`).join(' ');

/** Returns the instruction without its source position. */
export function printInstruction(instruction: Instruction): string {
  const operands = (printers[instruction.op] as Printer<Opcode>)(instruction);
  const result = 'dst' in instruction ? `r${instruction.dst} = ` : '';
  return `${result}${instruction.op}${operands === '' ? '' : ` ${operands}`}`;
}

type Printer<O extends Opcode> = (instruction: InstructionOf<O>) => string;

const nothing = (): string => '';
const src = (i: { src: Reg }): string => `r${i.src}`;
const args = (registers: readonly Reg[]): string => `(${registers.map((r) => `r${r}`).join(', ')})`;
const receiver = (i: { receiver: Reg | null }): string =>
  i.receiver === null ? '' : ` this r${i.receiver}`;
const madeName = (i: { name: string; nameFrom?: Reg }): string =>
  i.nameFrom === undefined ? i.name || '<anonymous>' : `[r${i.nameFrom}]`;
const jumpWith = (i: { test: Reg; target: Pc }): string => `r${i.test} → ${i.target}`;

const printers: { readonly [O in Opcode]: Printer<O> } = {
  const: (i) => primitive(i.value),
  regexp: (i) => `/${i.pattern}/${i.flags}`,
  move: src,
  uninitialized: nothing,
  checkInitialized: (i) => `r${i.src} ${i.name}`,
  arg: (i) => String(i.index),
  restArgs: (i) => String(i.from),
  this: nothing,
  newTarget: nothing,
  arguments: (i) => (i.mapped ? 'mapped' : ''),
  loadFree: (i) => i.name,
  storeFree: (i) => `${i.name} r${i.src}`,
  typeofFree: (i) => i.name,
  newCell: (i) => i.name,
  parameterCell: (i) => `r${i.arguments} ${i.index}`,
  loadCell: (i) => `r${i.cell} ${i.name}`,
  storeCell: (i) => `r${i.cell} r${i.src} ${i.name}`,
  outerCell: (i) => String(i.index),
  closure(i) {
    const home = i.home === undefined ? '' : ` on r${i.home}`;
    return `[${i.code}] ${madeName(i)}${home} ${args(i.cells)}`;
  },
  class(i) {
    const parent = i.parent === null ? '' : ` extends r${i.parent}`;
    return `[${i.code}] ${madeName(i)}${parent} ${args(i.cells)}`;
  },
  unary: (i) => `${i.operator} r${i.src}`,
  binary: (i) => `r${i.left} ${i.operator} r${i.right}`,
  toNumeric: src,
  increment: (i) => `r${i.src} ${i.by > 0 ? '+' : '-'} 1`,
  toPropertyKey: src,
  template: (i) =>
    i.strings
      .flatMap((text, index) => [
        ...(text === '' ? [] : [JSON.stringify(text)]),
        ...(index < i.values.length ? [`r${i.values[index]}`] : []),
      ])
      .join(' '),
  templateObject: (i) => i.raw.map((text) => JSON.stringify(text)).join(' '),
  getProp: (i) => `r${i.object} .${i.key}`,
  setProp: (i) => `r${i.object} .${i.key} r${i.src}`,
  getElem: (i) => `r${i.object} [r${i.key}]`,
  setElem: (i) => `r${i.object} [r${i.key}] r${i.src}`,
  deleteProp: (i) => `r${i.object} [r${i.key}]`,
  getPrivate: (i) => `r${i.object} .#${i.name}`,
  setPrivate: (i) => `r${i.object} .#${i.name} r${i.src}`,
  hasPrivate: (i) => `r${i.object} #${i.name}`,
  newArray: (i) => args(i.elements),
  arrayPush: (i) => `r${i.array} r${i.src}`,
  arraySpread: (i) => `r${i.array} ...r${i.iterable}`,
  newObject: nothing,
  defineProp: (i) => `r${i.object} [r${i.key}] r${i.src}`,
  defineAccessor: (i) => `r${i.object} ${i.accessor} [r${i.key}] r${i.src}`,
  setPrototype: (i) => `r${i.object} r${i.src}`,
  objectSpread: (i) => `r${i.object} ...r${i.source}`,
  objectRest: (i) => `r${i.source} without ${args(i.excluded)}`,
  requireObject: (i) => `r${i.src} ${i.what}`,
  call: (i) => `r${i.callee}${receiver(i)} ${args(i.args)}`,
  callSpread: (i) => `r${i.callee}${receiver(i)} (...r${i.args})`,
  construct: (i) => `r${i.callee} ${args(i.args)}`,
  constructSpread: (i) => `r${i.callee} (...r${i.args})`,
  getSuper: (i) => `.${i.key}`,
  getSuperElem: (i) => `[r${i.key}]`,
  intrinsic: (i) => `${i.name} ${args(i.args)}`,
  generatorStart: nothing,
  yield: (i) => `${i.mode === 'yield' ? '' : `${i.mode} `}r${i.src} returned → ${i.target}`,
  await: src,
  getIterator: (i) => `r${i.iterable}`,
  getKeyIterator: (i) => `r${i.object}`,
  iteratorNext: (i) => `r${i.iterator} done → ${i.done}`,
  iteratorSkip: (i) => `r${i.iterator}`,
  iteratorClose: (i) => `r${i.iterator}`,
  jump: (i) => `→ ${i.target}`,
  jumpIf: jumpWith,
  jumpIfNot: jumpWith,
  jumpIfNullish: jumpWith,
  jumpIfNotUndefined: jumpWith,
  return: src,
  throw: src,
};

function primitive(value: Primitive): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'bigint') return `${value}n`;
  return Object.is(value, -0) ? '-0' : String(value);
}

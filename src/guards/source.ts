import { assertNever } from '../../runtime/errors/invariant.ts';
import type { Code } from '../bytecode/code.ts';
import type { Frame, Scope } from '../bytecode/frame.ts';
import type { Reg } from '../bytecode/instructions.ts';

/**
 * Where a value came from, as data: what a guard reads again before a run, and what is printed. The
 * frames are those that a subgraph is entered with, outermost first.
 */
export type Source =
  | { readonly kind: 'argument'; readonly frame: number; readonly index: number }
  | { readonly kind: 'argumentCount'; readonly frame: number }
  | { readonly kind: 'this'; readonly frame: number }
  | { readonly kind: 'register'; readonly frame: number; readonly reg: Reg }
  /** A variable around a captured function. */
  | { readonly kind: 'free'; readonly scope: Scope; readonly name: string; readonly owner: string }
  | { readonly kind: 'outerCell'; readonly frame: number; readonly index: number }
  | { readonly kind: 'property'; readonly base: Source; readonly key: string }
  /** An object that the trace found by itself and holds on to. */
  | { readonly kind: 'held'; readonly value: object; readonly name: string };

export type Reader = (frames: readonly Frame[]) => unknown;

/** Compiles a source to a function that reads it; what can be resolved once is resolved here. */
export function compileReader(source: Source): Reader {
  switch (source.kind) {
    case 'argument': {
      const { frame, index } = source;
      return (frames) => frames[frame]!.args[index];
    }
    case 'argumentCount': {
      const { frame } = source;
      return (frames) => frames[frame]!.args.length;
    }
    case 'this': {
      const { frame } = source;
      return (frames) => frames[frame]!.thisValue;
    }
    case 'register': {
      const { frame, reg } = source;
      return (frames) => frames[frame]!.registers[reg];
    }
    case 'free':
      return source.scope.reader(source.name);
    case 'outerCell': {
      const { frame, index } = source;
      return (frames) => frames[frame]!.closure.cells[index];
    }
    case 'property': {
      const base = compileReader(source.base);
      const { key } = source;
      return (frames) => (base(frames) as Record<string, unknown>)[key];
    }
    case 'held': {
      const { value } = source;
      return () => value;
    }
    default:
      return assertNever(source, 'source');
  }
}

/** The names that registers and arguments have in the user's code. */
export interface SourceNames {
  readonly codes: readonly Code[];
}

function argumentName(code: Code | undefined, index: number): string {
  for (const instruction of code?.instructions ?? []) {
    if (instruction.op !== 'arg' || instruction.index !== index) continue;
    const name = code?.registerNames[instruction.dst];
    if (name) return name;
  }
  return `arguments[${index}]`;
}

const identifier = /^[A-Za-z_$][\w$]*$/;

/** As the user would write it: `this.layers[0].weight`. */
export function printSource(source: Source, names: SourceNames): string {
  switch (source.kind) {
    case 'argument':
      return argumentName(names.codes[source.frame], source.index);
    case 'argumentCount':
      return 'arguments.length';
    case 'this':
      return 'this';
    case 'register':
      return names.codes[source.frame]?.registerNames[source.reg] ?? `r${source.reg}`;
    case 'free':
      return source.name;
    case 'outerCell':
      return names.codes[source.frame]?.outerCells[source.index] ?? `cell${source.index}`;
    case 'property': {
      const base = printSource(source.base, names);
      if (/^\d+$/.test(source.key)) return `${base}[${source.key}]`;
      return identifier.test(source.key) ? `${base}.${source.key}` : `${base}['${source.key}']`;
    }
    case 'held':
      return source.name;
    default:
      return assertNever(source, 'source');
  }
}

const scopeIds = new WeakMap<object, number>();
let scopeCount = 0;

function objectId(object: object): number {
  const known = scopeIds.get(object);
  if (known !== undefined) return known;
  scopeIds.set(object, scopeCount);
  return scopeCount++;
}

/** Equal for sources that read the same place. */
export function sourceKey(source: Source): string {
  switch (source.kind) {
    case 'argument':
      return `a${source.frame}.${source.index}`;
    case 'argumentCount':
      return `n${source.frame}`;
    case 'this':
      return `t${source.frame}`;
    case 'register':
      return `r${source.frame}.${source.reg}`;
    case 'free':
      return `f${objectId(source.scope)}.${source.name}`;
    case 'outerCell':
      return `c${source.frame}.${source.index}`;
    case 'property':
      return `${sourceKey(source.base)}/${source.key.length}:${source.key}`;
    case 'held':
      return `h${objectId(source.value)}`;
    default:
      return assertNever(source, 'source');
  }
}

import type { Guard } from '../guards/guard.ts';
import { numberKey, numberSources } from '../guards/number-expr.ts';
import { isPlainArray, isProxy } from '../guards/plain.ts';
import { readerOfCall } from '../guards/plain-reads.ts';
import type { Source } from '../guards/source.ts';
import { rootOf, sourceKey } from '../guards/source-key.ts';
import type { Frame } from '../vm/bytecode/frame.ts';

/** A fact is changing once the entries of a point rely on this many contents of it, and a call has another one. */
const enough = 4;
/** In a trace that has a graph by then, which a break would divide, and for remainders, which have few values. */
const enoughInGraph = 5;
/** Texts that the call is given are often names of modes: each is worth an entry as long as there are few. */
const enoughNames = 6;

/**
 * The facts at one point that calls keep changing: texts, numbers, keys of objects and Maps. Instead of guarding them
 * again, a trace breaks the graph, and the instruction that needs them runs natively.
 */
export class ChangingFacts {
  /** How many contents of each fact have been seen together. */
  readonly #counts = new Map<string, number>();
  readonly #names = new Set<string>();
  readonly #isActive: boolean;
  /** Registers with the results of instructions that ran natively because their operands change. */
  readonly #registers = new Set<string>();

  constructor(isActive: boolean) {
    this.#isActive = isActive;
  }

  /** Notes the guards that rejected the call in these frames, of all entries at the point. */
  note(guards: readonly Guard[], frames: readonly Frame[]): void {
    if (!this.#isActive) return;
    const contents = new Map<string, Set<string>>();
    const add = (key: string, content: string) =>
      contents.set(key, (contents.get(key) ?? new Set()).add(content));
    const read = readerOfCall(frames);
    for (const guard of guards) {
      const key = factKey(guard);
      if (key !== undefined) add(key, contentOf(guard));
      if (key !== undefined && isName(guard)) this.#names.add(key);
      for (const source of lengthsIn(guard)) {
        if (isHostList(read(source.base))) add(lengthKey(source), factText(guard));
      }
    }
    for (const [key, { size }] of contents) {
      this.#counts.set(key, Math.max(size, this.#counts.get(key) ?? 0));
    }
  }

  noteRegister(source: Source): void {
    this.#registers.add(sourceKey(source));
  }

  /** Whether calls keep changing the fact with this key. */
  has(key: string, isInGraph: boolean): boolean {
    if (this.#counts.size === 0) return false;
    const count = this.#counts.get(key) ?? 0;
    const isLate = isInGraph || hasRemainder(key);
    return count >= (this.#names.has(key) ? enoughNames : isLate ? enoughInGraph : enough);
  }

  /** Whether the value is, or is read from, the result of an instruction whose operands change. */
  isInRegister(source: Source): boolean {
    return this.#registers.size > 0 && this.#registers.has(sourceKey(rootOf(source)));
  }
}

/** The key under which guards on the length of a list are counted, whatever is computed from it. */
export const lengthKey = (source: Source): string => `length ${sourceKey(source)}`;

type Length = Extract<Source, { kind: 'property' }>;

function lengthsIn(guard: Guard): Length[] {
  const sources =
    guard.kind === 'value'
      ? [guard.source]
      : guard.kind === 'number'
        ? [...numberSources(guard.expr)]
        : [];
  return sources.filter(
    (source): source is Length => source.kind === 'property' && source.key === 'length',
  );
}

const factText = (guard: Guard): string =>
  guard.kind === 'number' ? `${numberKey(guard.expr)} ${guard.value}` : contentOf(guard);

/** Whether the value is a text, or a list of which no element is or contains an object of its own, such as a tensor. */
function isHostList(value: unknown): boolean {
  if (typeof value === 'string') return true;
  return isPlainArray(value) && [value[0], value.at(-1)].every(isRecord);
}

function isRecord(value: unknown): boolean {
  if (!isObject(value)) return true;
  if (isProxy(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== Array.prototype) return false;
  return Object.values(Object.getOwnPropertyDescriptors(value)).every(
    (each) => 'value' in each && !isObject(each.value),
  );
}

const isObject = (value: unknown): value is object =>
  typeof value === 'function' || (typeof value === 'object' && value !== null);

/** Whether the guard is on a primitive, or on what an object contains; sizes and lengths are excluded. */
export function isOfHostValue(guard: Guard): boolean {
  switch (guard.kind) {
    case 'truthy':
    case 'defined':
    case 'typeof':
    case 'keys':
    case 'members':
      return true;
    case 'value':
      return !isCount(guard.source);
    case 'number':
      return [...numberSources(guard.expr)].some((source) => !isCount(source));
    default:
      return false;
  }
}

/** True for sizes of tensors and lengths of lists: entries for recurring ones unroll their loops. */
const isCount = (source: Source): boolean =>
  source.kind === 'property' &&
  (source.key === 'length' || (source.base.kind === 'property' && source.base.key === 'shape'));

/** The key under which a tracer guards the fact; undefined for facts that have few values. */
function factKey(guard: Guard): string | undefined {
  if (!isOfHostValue(guard)) return undefined;
  switch (guard.kind) {
    case 'value': {
      const type = typeof guard.value;
      return type === 'string' || type === 'number'
        ? `value ${sourceKey(guard.source)}`
        : undefined;
    }
    case 'number':
      return typeof guard.value === 'number' ? `number ${numberKey(guard.expr)}` : undefined;
    case 'keys':
    case 'members':
      return `${guard.kind} ${sourceKey(guard.source)}`;
    default:
      return undefined;
  }
}

function contentOf(guard: Guard): string {
  if (guard.kind === 'value' || guard.kind === 'number') return String(guard.value);
  if (guard.kind !== 'keys' && guard.kind !== 'members') return '';
  const { keys } = guard;
  const last = keys.at(-1);
  return `${keys.length} ${typeof last === 'object' ? '' : String(last)}`;
}

const isName = (guard: Guard): boolean =>
  guard.kind === 'value' &&
  typeof guard.value === 'string' &&
  rootOf(guard.source).kind !== 'register';

const hasRemainder = (key: string): boolean => key.includes('%(');

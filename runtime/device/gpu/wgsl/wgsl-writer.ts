import { invariant } from '../../../errors/invariant.ts';
import type { Attrs } from '../../kernel-op.ts';
import { type Bound, Buffers } from './elements/buffers.ts';
import type { ValueType } from './elements/element-type.ts';
import { halfFunctions } from './elements/half-functions.ts';
import { integerFunctions } from './elements/integer-functions.ts';
import { mathFunctions } from './math-functions.ts';
import { randomFunctions } from './random-functions.ts';
import type { WgslText } from './wgsl-text.ts';

/** The source of a uniform's value at launch. */
export type UniformValue =
  | { readonly kind: 'count'; readonly value: number }
  | { readonly kind: 'number'; readonly value: number }
  /** The first element of the kernel's operand with this index. */
  | { readonly kind: 'offset'; readonly operand: number }
  /** With `integer`, as an int32, truncated and saturated. */
  | { readonly kind: 'attr'; readonly name: string; readonly integer?: true }
  /** An int32. */
  | { readonly kind: 'int'; readonly value: number }
  /** A u32 computed from attributes. */
  | { readonly kind: 'integer'; readonly of: (attrs: Attrs) => number };

interface Uniform {
  readonly name: string;
  readonly value: UniformValue;
}

/** The first uniforms of every kernel, for numbers without WGSL literals. */
const leading: readonly Uniform[] = [
  { name: 'inf', value: { kind: 'number', value: Infinity } },
  { name: 'nan', value: { kind: 'number', value: NaN } },
];

/** Writes one module: generates names, collects uniforms in order, and adds the functions that are called. */
export class WgslWriter {
  readonly #threads: number;
  readonly #buffers: Buffers;
  #lines: string[] = [];
  readonly #declarations: string[] = [];
  readonly #uniforms: Uniform[] = [...leading];
  #names = 0;
  #usesSubgroups = false;
  /** The minimum subgroup size, a power of 2, if threads may read each other's registers; otherwise 1. */
  readonly lanes: number;

  /** `threads` is the number of threads of a workgroup. */
  constructor(threads: number, bound: Bound) {
    this.#threads = threads;
    this.#buffers = new Buffers(bound);
    this.lanes = bound.lanes;
  }

  /** Returns the value of an operand's element; `index` is relative to the start of its buffer. */
  load(operand: number, index: string): string {
    return this.#buffers.load(operand, index);
  }

  /** Returns the statement that stores an element's value. */
  store(operand: number, index: string, value: string): string {
    return this.#buffers.store(operand, index, value);
  }

  /** Declares the words in which a thread that owns words collects these operands' elements. */
  collect(operands: readonly number[]): void {
    this.line(...this.#buffers.collectors(operands));
  }

  /** Returns an expression for a uniform; uniforms with the same name are shared. */
  uniform(name: string, value: UniformValue): string {
    if (!this.#uniforms.some((other) => other.name === name)) this.#uniforms.push({ name, value });
    return `u.${name}`;
  }

  count(name: string, value: number): string {
    return this.uniform(name, { kind: 'count', value });
  }

  offset(operand: number): string {
    return this.uniform(`o${operand}`, { kind: 'offset', operand });
  }

  /** Declares memory shared by the threads of a workgroup. */
  shared(name: string, type: string): void {
    this.#declarations.push(`var<workgroup> ${name} : ${type};`);
  }

  /** Declares a function with the body that `body` writes. */
  function(signature: string, body: () => void): void {
    const outer = this.#lines;
    this.#lines = [];
    body();
    const lines = this.#lines.map((line) => `  ${line}`).join('\n');
    this.#declarations.push(`fn ${signature} {\n${lines}\n}`);
    this.#lines = outer;
  }

  /** Returns the thread's index in its subgroup. */
  lane(): string {
    this.#usesSubgroups = true;
    return 'lane';
  }

  /** Returns a variable's value in the subgroup's thread with this index. All threads must execute it. */
  shuffle(name: string, lane: string): string {
    this.#usesSubgroups = true;
    return `subgroupShuffle(${name}, ${lane})`;
  }

  /** Returns a variable's value in one of the four adjacent threads. All threads must execute it. */
  quadBroadcast(name: string, lane: number): string {
    this.#usesSubgroups = true;
    return `quadBroadcast(${name}, ${lane}u)`;
  }

  line(...lines: readonly string[]): void {
    this.#lines.push(...lines);
  }

  name(): string {
    return `t${this.#names++}`;
  }

  /** Declares a constant with the value of the expression. */
  let(expression: string): string {
    const name = this.name();
    this.line(`let ${name} = ${expression};`);
    return name;
  }

  /** Returns the module. Its body may use `group`, the workgroup's index in x and y, `at.z`, and `thread`. */
  text(): WgslText {
    const { written, writable } = this.#buffers;
    const declarations = [...this.#buffers.functions, ...this.#declarations];
    const body = this.#lines.map((line) => `  ${line}`).join('\n');
    const fields = this.#uniforms.map(({ name, value }) => `  ${name} : ${typeOf(value)},`);
    const lane = this.#usesSubgroups ? ', @builtin(subgroup_invocation_id) lane : u32' : '';
    const code = [
      ...(this.#usesSubgroups ? ['enable subgroups;'] : []),
      `struct Uniforms {\n${fields.join('\n')}\n}`,
      '@group(0) @binding(0) var<uniform> u : Uniforms;',
      ...this.#buffers.declarations,
      ...functionsIn([body, ...declarations].join('\n')),
      ...declarations,
      `@compute @workgroup_size(${this.#threads})`,
      'fn main(@builtin(workgroup_id) at : vec3<u32>, @builtin(num_workgroups) count : vec3<u32>,',
      `        @builtin(local_invocation_index) thread : u32${lane}) {`,
      '  let group = at.y * count.x + at.x;',
      `${body}\n}`,
    ].join('\n');
    return {
      code,
      written,
      writable,
      isAtomic: this.#buffers.isAtomic,
      uniformBytes: this.#uniforms.length * 4,
    };
  }

  /** The uniforms in the order of their words. */
  get uniforms(): readonly UniformValue[] {
    return this.#uniforms.map(({ value }) => value);
  }
}

/** Returns the type of the uniform's word. */
export function typeOf(value: UniformValue): ValueType {
  switch (value.kind) {
    case 'count':
    case 'offset':
    case 'integer':
      return 'u32';
    case 'int':
      return 'i32';
    case 'attr':
      return value.integer ? 'i32' : 'f32';
    case 'number':
      return 'f32';
  }
}

const functions = [mathFunctions, integerFunctions, halfFunctions, randomFunctions];

/** Returns our functions that the text calls, directly or indirectly, callees first. */
function functionsIn(text: string): string[] {
  const found = new Map<string, string>();
  const visit = (code: string): void => {
    for (const [, name] of code.matchAll(/\b(f_\w+)\(/g)) {
      if (found.has(name!)) continue;
      const source = functions.map((known) => known.get(name!)).find((known) => known);
      invariant(source !== undefined, `WGSL calls ${name}, which is not there`);
      // Marked before its callees, so that recursion ends the search.
      found.set(name!, '');
      visit(source.slice(source.indexOf('{')));
      found.delete(name!);
      found.set(name!, source);
    }
  };
  visit(text);
  return [...found.values()];
}

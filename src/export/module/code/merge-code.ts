import { unsigned } from '../../../../runtime/device/cpu/wasm/assembler/code.ts';
import { section, text, vector } from '../../../../runtime/device/cpu/wasm/assembler/sections.ts';
import { invariant } from '../../../../runtime/errors/invariant.ts';
import type { RecordedKernel } from '../actions/actions.ts';
import { callsIn } from './instructions.ts';
import { type ReadCode, readCode } from './read-code.ts';

/** One module with all kernels of a program, and nothing else. */
export interface MergedCode {
  readonly code: Uint8Array<ArrayBuffer>;
  /** Functions in JavaScript that it imports from `env`, besides `memory`. */
  readonly imports: readonly string[];
  /** Returns the export of a kernel: the index of its function, as text. */
  readonly exportOf: (kernel: RecordedKernel) => string;
}

/** A function of the merged module: its body, with keys in place of the indices of other functions. */
interface Merged {
  readonly type: string;
  readonly pieces: readonly (Uint8Array | string)[];
}

/** Collects functions, merging equal ones. */
class Merging {
  readonly functions = new Map<string, Merged>();
  readonly imports = new Map<string, string>();
  readonly #keys = new Map<ReadCode, Map<number, string>>();

  /** Returns the key of a function, given its index in its module. */
  add(module: ReadCode, number: number): string {
    const { imports, functions } = module;
    if (number < imports.length) {
      const [name, type] = imports[number]!;
      invariant(type, `a call of ${name}, which the module does not declare`);
      this.imports.set(name, type);
      return `import ${name}`;
    }
    const keys = this.#keys.get(module) ?? new Map<number, string>();
    this.#keys.set(module, keys);
    let key = keys.get(number);
    if (key !== undefined) return key;
    const { body, type } = functions[number - imports.length]!;
    const pieces: (Uint8Array | string)[] = [];
    let done = 0;
    for (const { from, to, callee } of callsIn(body)) {
      pieces.push(body.subarray(done, from), this.add(module, callee));
      done = to;
    }
    pieces.push(body.subarray(done));
    key = [type, ...pieces.map((piece) => piece.toString())].join('|');
    keys.set(number, key);
    this.functions.set(key, { type, pieces });
    return key;
  }
}

const keyOf = (merging: Merging, { code, name }: RecordedKernel): string => {
  const module = readCode(code);
  const index = module.functions.findIndex((each) => each.name === name);
  return merging.add(module, module.imports.length + index);
};

/** `pages`: the least size of the memory that the module imports. */
export function mergeCode(kernels: Iterable<RecordedKernel>, pages: number): MergedCode {
  const merging = new Merging();
  const roots = new Set<string>();
  for (const kernel of kernels) roots.add(keyOf(merging, kernel));
  const imports = [...merging.imports.keys()].sort();
  const keys = [...merging.functions.keys()];
  const numbers = new Map([
    ...imports.map((name, i) => [`import ${name}`, i] as const),
    ...keys.map((key, i) => [key, imports.length + i] as const),
  ]);
  const functions = [...merging.functions.values()];
  const types = [...new Set([...merging.imports.values(), ...functions.map(({ type }) => type)])];
  const bodies = functions.map(({ pieces }) => {
    const body = pieces.flatMap((piece) =>
      typeof piece === 'string' ? unsigned(numbers.get(piece)!) : [...piece],
    );
    return [...unsigned(body.length), ...body];
  });
  const code = new Uint8Array([
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, vector(types.map((type) => type.split(',').map(Number)))),
    ...section(
      2,
      vector([
        [...text('env'), ...text('memory'), 0x02, 0, ...unsigned(pages)],
        ...imports.map((name) => [
          ...text('env'),
          ...text(name),
          0x00,
          ...unsigned(types.indexOf(merging.imports.get(name)!)),
        ]),
      ]),
    ),
    ...section(3, vector(functions.map(({ type }) => unsigned(types.indexOf(type))))),
    // The start of scratch memory: 0 for the only thread of a module.
    ...section(6, vector([[0x7f, 0, 0x41, 0, 0x0b]])),
    ...section(
      7,
      vector(
        [...roots].map((key) => [
          ...text(String(numbers.get(key)!)),
          0x00,
          ...unsigned(numbers.get(key)!),
        ]),
      ),
    ),
    ...section(10, vector(bodies)),
  ]);
  invariant(WebAssembly.validate(code), 'merged kernels that the engine rejects');
  return { code, imports, exportOf: (kernel) => String(numbers.get(keyOf(merging, kernel))!) };
}

import { invariant } from '../../../../errors/invariant.ts';
import { fixNumerics } from '../../../../numerics/math.ts';
import { type DoubleFunction, doubleFunctions } from '../../core/double-functions.ts';
import { canShare, heap } from '../../core/heap.ts';
import { imported } from '../../core/imported.ts';
import { unsigned } from './code.ts';
import { FunctionBuilder } from './function-builder.ts';
import { type ValueType, valueTypes } from './instructions.ts';
import { section, text, vector } from './sections.ts';

type Imported = keyof typeof imported;

/** Caches of compiled kernels; replaced while kernels are recorded for a module. */
export const kernelCaches: { made?: unknown }[] = [];

/** The types of functions that kernels call in place of an instruction or polynomial. */
const importTypes: { readonly [F in Imported]: readonly [ValueType[], ValueType] } = {
  pow: [['f32', 'f32'], 'f32'],
  rem: [['f32', 'f32'], 'f32'],
  sin: [['f32'], 'f32'],
  cos: [['f32'], 'f32'],
  intPow: [['i32', 'i32'], 'i32'],
  intRem: [['i32', 'i32'], 'i32'],
  intQuotient: [['i32', 'i32'], 'i32'],
};

const importNames = Object.keys(importTypes) as Imported[];
const doubleNames = Object.keys(doubleFunctions()) as DoubleFunction[];

const twoNumbers: ReadonlySet<DoubleFunction> = new Set(['pow', 'rem', 'atan2']);

const doubleTypes = doubleNames.map((name): readonly [ValueType[], ValueType] => [
  new Array<ValueType>(twoNumbers.has(name) ? 2 : 1).fill('f64'),
  'f64',
]);
const importedCount = importNames.length + doubleNames.length;
/** Functions that all modules import, for the numerics in use when the first module is created. */
const doubleImports = lazily(() => {
  const functions = doubleFunctions();
  return Object.fromEntries(doubleNames.map((name) => [`${name}64`, functions[name]]));
});

/** The index of a float64 function, for `callCode`. */
export function doubleIndex(name: DoubleFunction): number {
  return importNames.length + doubleNames.indexOf(name);
}

/** The index of an imported function, for `callCode`. */
export const importedIndex = Object.fromEntries(
  importNames.map((name, i) => [name, i]),
) as unknown as { readonly [F in Imported]: number };

export type Kernel = (...args: readonly number[]) => number;

function functionType(params: readonly ValueType[], results: readonly ValueType[]): number[] {
  const types = (list: readonly ValueType[]) => vector(list.map((type) => [valueTypes[type]]));
  return [0x60, ...types(params), ...types(results)];
}

/** Imported functions by name: the code that names each, and its type. */
const importedFunctions = lazily(() => [
  ...importNames.map((name) => {
    const [params, result] = importTypes[name];
    return { name: name as string, text: text(name), type: functionType(params, [result]) };
  }),
  ...doubleNames.map((name, i) => {
    const [params, result] = doubleTypes[i]!;
    return { name: `${name}64`, text: text(`${name}64`), type: functionType(params, [result]) };
  }),
]);

const env = text('env');

/** The type index of imports that no function of the module calls: that of `uncalled`. */
const uncalledType = 0;

/** Encodes a module. The functions return nothing; they write results to memory. */
function encode(
  functions: ReadonlyMap<string, FunctionBuilder>,
  called: ReadonlySet<string>,
): Uint8Array<ArrayBuffer> {
  const builders = [...functions.values()];
  const types = [functionType([], [])];
  // Limits as in `heap.ts`: at least one page, at most the declared maximum (1: a maximum, 2: shared).
  const flags = canShare ? 0x03 : 0x01;
  const memory = [...env, ...text('memory'), 0x02, flags, 1, ...unsigned(65536)];
  const base = [...env, ...text('base'), 0x03, valueTypes.i32, 0];
  const imports = importedFunctions().map(({ name, text, type }) => {
    return [...env, ...text, 0x00, called.has(name) ? types.push(type) - 1 : uncalledType];
  });
  const first = types.length;
  for (const { paramTypes } of builders) types.push(functionType(paramTypes, []));
  const exported = [...functions.keys()].map((name, i) => {
    return [...text(name), 0x00, ...unsigned(localIndex(i))];
  });
  const bodies = builders.map((builder) => builder.body());
  const sized = bodies.flatMap((body) => [unsigned(body.length), body]);
  const count = unsigned(bodies.length);
  return joined([
    [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    section(1, vector(types)),
    section(2, vector([memory, base, ...imports])),
    section(3, vector(builders.map((_, i) => unsigned(first + i)))),
    section(7, vector(exported)),
    [10, ...unsigned(lengthOf(sized) + count.length), ...count],
    ...sized,
  ]);
}

const lengthOf = (parts: readonly (readonly number[])[]): number =>
  parts.reduce((sum, { length }) => sum + length, 0);

function joined(parts: readonly (readonly number[])[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(lengthOf(parts));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** Returns the index of function `position`, from 0, among functions compiled together. */
export function localIndex(position: number): number {
  return importedCount + position;
}

const instanceOf = (code: Uint8Array<ArrayBuffer>, imports?: WebAssembly.Imports) =>
  new WebAssembly.Instance(new WebAssembly.Module(code), imports);

/** Creates kernels from a module's code. */
export const instantiation = { of: instanceOf };

type Definitions<Name extends string> = {
  readonly [N in Name]: (builder: FunctionBuilder) => void;
};

/** Compiles functions over the heap; `define` writes the body of each. */
export function compile<Name extends string>(
  definitions: Definitions<Name>,
): { readonly [N in Name]: Kernel } {
  const functions = new Map<string, FunctionBuilder>();
  for (const name of Object.keys(definitions) as Name[]) {
    const builder = new FunctionBuilder();
    definitions[name](builder);
    functions.set(name, builder);
  }
  fixNumerics();
  const imports = new Set([...functions.values()].flatMap((builder) => [...builder.imports]));
  const code = encode(functions, imports);
  const { exports } = instantiation.of(code, { env: importsOf(imports) });
  const kernels = exports as unknown as { readonly [N in Name]: Kernel };
  const list = Object.values<Kernel>(kernels);
  for (const kernel of list) modules.set(kernel, { code, imports, kernels: list });
  return kernels;
}

/**
 * Compiles each group of functions when one of them is first read: most programs use few functions of a family, and
 * writing all would dominate a first call.
 */
export function compileWhenRead<Name extends string>(
  groups: readonly Partial<Definitions<Name>>[],
): { readonly [N in Name]: Kernel } {
  const kernels = {};
  for (const group of groups) {
    let compiled: { readonly [name: string]: Kernel } | undefined;
    for (const name of Object.keys(group)) {
      const get = () => {
        compiled ??= compile(group as Definitions<string>);
        return compiled[name];
      };
      Object.defineProperty(kernels, name, { get, enumerable: true });
    }
  }
  return kernels as { readonly [N in Name]: Kernel };
}

/**
 * A placeholder import. Engines compile a wrapper for every imported JavaScript function, which takes longer than most
 * modules, but none for a WebAssembly function.
 */
const uncalled = lazily(() => {
  const code = [
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, vector([functionType([], [])])),
    ...section(3, [1, 0]),
    ...section(7, vector([[...text('uncalled'), 0x00, 0]])),
    ...section(10, vector([[2, 0, 0x0b]])),
  ];
  const { uncalled } = instanceOf(new Uint8Array(code)).exports;
  return Object.fromEntries(importedFunctions().map(({ name }) => [name, uncalled!]));
});

/** Returns the imports of a module that calls these functions. */
function importsOf(called: ReadonlySet<string>): WebAssembly.ModuleImports {
  const found = { ...uncalled(), memory: heap.memory, base: 0 };
  if (called.size === 0) return found;
  const functions = Object.entries({ ...imported, ...doubleImports() });
  return Object.assign(found, Object.fromEntries(functions.filter(([name]) => called.has(name))));
}

/** The module that contains a kernel. */
interface CompiledModule {
  readonly code: Uint8Array<ArrayBuffer>;
  /** The JavaScript functions that its functions call. */
  readonly imports: ReadonlySet<string>;
  /** In export order. */
  readonly kernels: readonly Kernel[];
}

const modules = new WeakMap<Kernel, CompiledModule>();

export function moduleOf(kernel: Kernel): CompiledModule {
  const module = modules.get(kernel);
  invariant(module, 'no generated kernel');
  return module;
}

/** Creates a value on first use. All kernel caches are created this way. */
export function lazily<T>(make: () => T): () => T {
  const cache: { made?: T | undefined } = {};
  kernelCaches.push(cache);
  return () => {
    cache.made ??= make();
    return cache.made;
  };
}

/** The bytes of a module with one vector instruction, which engines without SIMD reject. */
const probe = [
  ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
  ...section(1, vector([functionType([], ['v128'])])),
  ...section(3, [1, 0]),
  ...section(10, vector([[6, 0, 0x41, 0, 0xfd, 17, 0x0b]])),
];

/**
 * Whether kernels can be generated: not without SIMD or under a page policy that forbids it. Cloudflare's workers
 * compile only while they start: they pass this probe and reject kernels later.
 */
export const hasSimd: boolean = (() => {
  try {
    if (globalThis.navigator?.userAgent === 'Cloudflare-Workers') return false;
    new WebAssembly.Module(new Uint8Array(probe));
    return true;
  } catch {
    return false;
  }
})();

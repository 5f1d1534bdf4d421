import type { TensorMeta } from '../../../../runtime/device/tensor-meta.ts';
import type { PlannedSubgraph } from '../../../../runtime/program/plan.ts';
import type { SavedRecipe } from '../../../../runtime/save/recipe.ts';
import type { SavedEntry } from '../../../../runtime/save/saved-entry.ts';
import { encodeSource } from '../../../../runtime/save/saved-source.ts';
import type { DType } from '../../../../runtime/spec/dtype.ts';

const arrayOf: { readonly [D in DType]: string } = {
  float32: 'Float32Array',
  float64: 'Float64Array',
  int32: 'Int32Array',
  float16: 'Uint16Array',
  bfloat16: 'Uint16Array',
  bool: 'Uint8Array',
  uint8: 'Uint8Array',
};

type Tree = { type?: string; readonly entries: Map<string, Tree> };

interface Entry {
  readonly saved: SavedEntry;
  readonly planned: PlannedSubgraph;
}

/** The TypeScript declarations of a module, with the arguments and results of its programs. */
export function declarationsText(entries: readonly Entry[]): string {
  const signatures = entries.map((entry) => {
    return `  run(${argumentsText(entry)}): ${resultText(entry)};`;
  });
  return `/** A tensor as a typed array; halves are their bits, booleans 0 and 1. */
export interface Tensor<Data extends ArrayBufferView = ArrayBufferView> {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data: Data;
}

/** The elements of an argument in row-major order, alone or with their shape, which is checked then. */
export type Elements<Data extends ArrayBufferView> =
  | Data
  | { readonly data: Data; readonly shape?: readonly number[] };

export interface Instance {
${[...new Set(signatures)].join('\n')}
  /** Copies of the tensors of the state, by name. */
  state(): Record<string, Tensor>;
  /** Numbers and texts of the state, by name. */
  variables(): Record<string, unknown>;
  /** Replaces values of the state, by name. */
  loadState(values: Readonly<Record<string, unknown>>): void;
  /** Begins the stream of random numbers of a seed. */
  seed(value: number): void;
}

/** Bytes of an instance's memory. */
export declare const memory: {
  readonly planned: number;
  readonly arena: number;
  readonly state: number;
  readonly arguments: number;
  readonly scratch: number;
  readonly total: number;
};

/** \`weights\`: the bytes of the state, in the place of those that the module has or fetches. */
export declare function instantiate(options?: {
  readonly seed?: number;
  readonly weights?: Uint8Array;
}): Promise<Instance>;
`;
}

const elements = ({ dtype }: TensorMeta): string => `Elements<${arrayOf[dtype]}>`;

function argumentsText({ saved, planned: { forward, values } }: Entry): string {
  const root: Tree = { entries: new Map() };
  const at = (path: readonly unknown[]): Tree => {
    let tree = root;
    for (const key of path.map(String)) {
      const next = tree.entries.get(key) ?? { entries: new Map() };
      tree.entries.set(key, next);
      tree = next;
    }
    return tree;
  };
  for (const source of saved.numbers) {
    const [form, ...path] = encodeSource(source);
    if (form === 'argument') at(path).type = 'number';
  }
  saved.inputs.forEach(({ place }, i) => {
    const [form, ...path] = encodeSource(place);
    if (form === 'argument') at(path).type = elements(values[forward.inputs[i]!]!);
  });
  const count = Math.max(-1, ...[...root.entries.keys()].map(Number)) + 1;
  return Array.from({ length: count }, (_, i) => {
    const tree = root.entries.get(String(i));
    return `arg${i}: ${tree ? treeText(tree) : 'unknown'}`;
  }).join(', ');
}

function treeText({ type, entries }: Tree): string {
  if (entries.size === 0) return type ?? 'unknown';
  const keys = [...entries].map(([key, tree]) => `${JSON.stringify(key)}: ${treeText(tree)}`);
  return `{ ${keys.join('; ')} }`;
}

function resultText({ saved, planned: { forward, values } }: Entry): string {
  const textOf = (recipe: SavedRecipe | null): string => {
    switch (recipe?.kind) {
      case 'constant':
        return recipe.value === undefined
          ? 'undefined'
          : recipe.value === null
            ? 'null'
            : typeof recipe.value;
      case 'output':
        return `Tensor<${arrayOf[values[forward.outputs[recipe.index]!]!.dtype]}>`;
      case 'scalar':
        return recipe.type;
      case 'number':
        return 'number';
      case 'made': {
        const make = saved.makes[recipe.index]!;
        if (make.kind === 'array') return `[${make.elements.map(textOf).join(', ')}]`;
        if (make.kind !== 'object') return 'unknown';
        const keys = make.entries.map(([key, each]) => `${JSON.stringify(key)}: ${textOf(each)}`);
        return `{ ${keys.join('; ')} }`;
      }
      default:
        return 'unknown';
    }
  };
  return textOf(saved.result);
}

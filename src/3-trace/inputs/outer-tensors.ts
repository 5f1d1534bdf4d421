import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import type { Source } from '../../guards/source.ts';
import { sourceKey } from '../../guards/source-key.ts';
import { TensorList } from '../variables/tensor-list.ts';

/** A path to a tensor in elements that all have the same keys; undefined for elements that are tensors. */
export interface ElementPath {
  readonly path: readonly string[];
  readonly keys: string | undefined;
}

/** The tensors at a path in the elements of a pre-existing array, which are inputs. */
export class OuterTensors extends TensorList {
  /** The array. */
  readonly source: Source;
  /** The keys that lead from an element to its tensor; empty if the elements are tensors. */
  readonly path: readonly string[];
  /** The keys of each element. */
  readonly keys: string | undefined;

  constructor(source: Source, { path, keys }: ElementPath, recorded: readonly Tensor[]) {
    super(recorded);
    this.source = source;
    this.path = path;
    this.keys = keys;
  }
}

/** Returns the source of an array's tensors, in which programs of one trace may differ besides sizes. */
export function layoutSource(base: Source): Source {
  return { kind: 'query', base, query: 'tensors', key: undefined };
}

/** Returns which of the list's `count` tensors the source reads by its index, from the start or the end. */
export function indexIn(list: OuterTensors, given: Source, count: number): number | undefined {
  let source = given;
  for (const key of [...list.path].reverse()) {
    if (source.kind !== 'property' || source.key !== key) return undefined;
    source = source.base;
  }
  const { source: array } = list;
  if (source.kind === 'argument') {
    const isOfRest = array.kind === 'restArguments' && array.frame === source.frame;
    return isOfRest && source.index >= array.from ? source.index - array.from : undefined;
  }
  const isFromEnd = source.kind === 'query' && source.query === 'fromEnd';
  if (source.kind !== 'property' && !(source.kind === 'query' && isFromEnd)) return undefined;
  const at = String(source.key);
  if (!isIndex(at) || sourceKey(source.base) !== sourceKey(array)) return undefined;
  return isFromEnd ? count - Number(at) : Number(at);
}

const isIndex = (key: string): boolean => /^\d+$/.test(key);

/** Returns the source of the value that a path from an element leads to. */
export function elementSource(array: Source, index: string, path: readonly string[]): Source {
  let source: Source =
    array.kind === 'restArguments' && isIndex(index)
      ? { kind: 'argument', frame: array.frame, index: array.from + Number(index) }
      : { kind: 'property', base: array, key: index };
  for (const key of path) source = { kind: 'property', base: source, key };
  return source;
}

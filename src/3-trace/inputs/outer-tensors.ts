import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import type { Source } from '../../guards/source.ts';

/**
 * A placeholder in op operands for all tensors of a pre-existing array, which may contain more tensors in another
 * call.
 */
export class OuterTensors {
  readonly source: Source;
  /** The array's tensors at trace time. */
  readonly recorded: readonly Tensor[];

  constructor(source: Source, recorded: readonly Tensor[]) {
    this.source = source;
    this.recorded = recorded;
  }
}

/** Returns the source of an array's tensors, in which programs of one trace may differ besides sizes. */
export function layoutSource(base: Source): Source {
  return { kind: 'query', base, query: 'tensors', key: undefined };
}

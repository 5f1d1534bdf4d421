import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import type { Source } from '../../guards/source.ts';

/** Among operands, inside of an array: all tensors of an array from outside, of which another call may have more. */
export class OuterTensors {
  readonly source: Source;
  /** Those of the trace. */
  readonly recorded: readonly Tensor[];

  constructor(source: Source, recorded: readonly Tensor[]) {
    this.source = source;
    this.recorded = recorded;
  }
}

/** The source in which the programs of one trace differ besides sizes: the tensors of an array. */
export function layoutSource(base: Source): Source {
  return { kind: 'query', base, query: 'tensors', key: undefined };
}

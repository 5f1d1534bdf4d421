import { Tensor } from '../../../runtime/tensor/tensor.ts';
import { tensorMethods } from '../../../runtime/tensor-methods/methods.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import type { TensorVariable } from '../variables/variable.ts';

/** Tensors that represent those of every element of an array, while a callback is traced for all of them. */
export class RowWatch {
  /** True if anything of them was read. */
  isRead = false;
  /** The methods that were looked up on them. */
  readonly members = new Set<string | symbol>();
  readonly #tensors: ReadonlySet<Tensor>;

  constructor(tensors: readonly Tensor[]) {
    this.#tensors = new Set(tensors);
  }

  /** Must be called before a member is read. `isMeta`: all tensors that the trace is for have the same. */
  expectMember({ traced }: TensorVariable, key: string | symbol, isMeta = false): void {
    if (!traced || !this.#tensors.has(traced)) return;
    this.isRead = true;
    if (isMeta) return;
    const isMethod = typeof Reflect.get(Tensor.prototype, key) === 'function';
    if (!isMethod && !tensorMethods.properties.has(key as string)) throw differs(String(key));
    this.members.add(key);
  }

  expectNoSize(tensor: Tensor): void {
    if (this.#tensors.has(tensor)) throw differs('shape');
  }
}

function differs(key: string): GraphBreak {
  return new GraphBreak(
    'unsupported-value',
    `the ${key} of an element differs from element to element`,
  );
}

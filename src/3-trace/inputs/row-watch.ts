import { Tensor } from '../../../runtime/tensor/tensor.ts';
import { tensorMethods } from '../../../runtime/tensor-methods/methods.ts';
import type { NumberExpr } from '../../guards/number-expr.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import type { NewArrayVariable, TensorVariable, Variable } from '../variables/variable.ts';
import { asCounter, atRow, isSettledAt } from './row-index.ts';

/** An iteration of a loop over an array, which is traced once for all elements. */
interface RowIteration {
  /** The values that it appends to arrays that existed before the loop. */
  readonly pushed: ReadonlyMap<NewArrayVariable, Variable[]>;
  /** Returns the element at a key, if that is the iteration's own index. */
  element(array: Variable, key: Variable): Variable | undefined;
}

/** The tensors that represent those of every element of an array while code is traced for all elements. */
export class RowWatch {
  /** Whether a property of these tensors was read. */
  isRead = false;
  /** The methods looked up on them. */
  readonly members = new Set<string | symbol>();
  /** The index of the element; null if the code doesn't know it. */
  readonly index: number | null;
  readonly iteration: RowIteration | undefined;
  /** False if a later iteration may decide differently by its index. */
  isSettled = true;
  readonly #tensors: Set<Tensor>;

  constructor(
    tensors: readonly Tensor[],
    index: number | null = null,
    iteration: RowIteration | undefined = undefined,
  ) {
    this.#tensors = new Set(tensors);
    this.index = index;
    this.iteration = iteration;
  }

  /** Adds the tensors of another array's element. */
  add(tensors: readonly Tensor[]): void {
    for (const tensor of tensors) this.#tensors.add(tensor);
  }

  /** Must be called before a member is read. `isMeta`: all tensors that the trace is for agree in it. */
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

  /** Must be called before a pre-existing tensor is used that isn't reached through the element. */
  expectOther(tensor: Tensor): void {
    if (!this.#tensors.has(tensor)) return;
    throw new GraphBreak('unsupported-value', 'an element is also used by itself');
  }

  /** Returns whether the comparison may be decided here; records if later iterations may decide differently. */
  decide(expr: NumberExpr): boolean {
    const isComparison = expr.kind === 'apply' && comparisons.has(expr.fn);
    if (this.index === null || !isComparison || !expr.args.every(isCounter)) return false;
    if (!isSettledAt(expr, this.index)) this.isSettled = false;
    return true;
  }

  /** Returns the number for the element being traced. */
  number(expr: NumberExpr): NumberExpr {
    return this.index === null ? expr : atRow(expr, { kind: 'constant', value: this.index });
  }
}

const comparisons: ReadonlySet<string> = new Set(['<', '<=', '>', '>=', '===', '!==']);

const isCounter = (expr: NumberExpr): boolean => asCounter(expr) !== undefined;

function differs(key: string): GraphBreak {
  return new GraphBreak(
    'unsupported-value',
    `the ${key} of an element differs from element to element`,
  );
}

import { Tensor } from '../../../runtime/tensor/tensor.ts';
import type { NumberHistory } from '../../guards/number-history.ts';
import { isProxy } from '../../guards/plain.ts';
import type { Source } from '../../guards/source.ts';
import { sourceKey } from '../../guards/source-key.ts';
import type { ChangingFacts } from '../../traces/changing-facts.ts';
import { uninitialized } from '../../vm/bytecode/frame.ts';
import { owns } from '../../vm/language/primordials.ts';
import { isPrimitive, outerTensor, type Variable } from '../variables/variable.ts';
import type { BodyReads } from './body-reads.ts';
import { symbolicFrom } from './symbolic.ts';

/** Variables for pre-existing values, by the source from which they are read. */
export class OuterVariables {
  readonly #bySource = new Map<string, Variable>();
  readonly #history: NumberHistory;
  readonly #changing: ChangingFacts;
  /** All sources that were read. */
  readonly places: Source[] = [];
  /** Notes the reads of the body of a checkpointed call while it is traced. */
  reads: BodyReads | null = null;

  /** Whether a key of a Map or Set is known to differ between calls. */
  hasChangingKeys = false;

  constructor(history: NumberHistory, changing: ChangingFacts) {
    this.#history = history;
    this.#changing = changing;
  }

  /** Whether the object used as a key of a Map or Set differs between calls: another trace found another object. */
  isChangingKey(source: Source, object: object): boolean {
    const changes = this.#history.isOtherObject(sourceKey(source), object);
    this.hasChangingKeys ||= changes;
    return changes;
  }

  /**
   * Returns the variable for a value read from a source. Reading a source twice returns the same variable.
   * `changes`: the number is known to differ in the next call.
   */
  read(source: Source, value: unknown, changes = false): Variable {
    const key = sourceKey(source);
    if (this.reads && !this.#isOfTensor(source)) this.reads.source(source);
    const existing = this.#bySource.get(key);
    if (existing) return existing;
    const variable =
      typeof value === 'number'
        ? this.#numberFrom(source, value, changes)
        : this.#variableFor(source, value);
    this.#bySource.set(key, variable);
    this.places.push(source);
    return variable;
  }

  /** Whether the source is a part of a tensor, such as its shape. */
  #isOfTensor(source: Source): boolean {
    for (let each = source; owns(each, 'base'); ) {
      each = each.base;
      if (this.#bySource.get(sourceKey(each))?.kind === 'tensor') return true;
    }
    return false;
  }

  /** Runs the body of a checkpointed call and notes in `reads` what it reads. */
  noteReads<T>(reads: BodyReads | null, body: () => T): T {
    const outer = this.reads;
    this.reads = reads;
    try {
      return body();
    } finally {
      this.reads = outer;
    }
  }

  /** Whether a boolean was read from the source. */
  isBoolean(source: Source): boolean {
    const variable = this.#bySource.get(sourceKey(source));
    return variable?.kind === 'constant' && typeof variable.value === 'boolean';
  }

  /** Whether the results of comparisons of the number at the source are known to change. */
  hasChangingComparisons(source: Source): boolean {
    return this.#history.hasChangingComparisons(sourceKey(source));
  }

  #variableFor(source: Source, value: unknown): Variable {
    if (value === uninitialized) return { kind: 'uninitialized', source };
    if (typeof value === 'boolean') {
      const changes = this.#history.isChangingBoolean(sourceKey(source));
      return { kind: 'constant', value, source, changes };
    }
    if (isPrimitive(value)) return { kind: 'constant', value, source };
    if (typeof value === 'function') {
      return { kind: 'function', value: value as (...args: never[]) => unknown, source };
    }
    if (!isProxy(value) && value instanceof Tensor) return outerTensor(source, value);
    return { kind: 'object', value: value as object, source };
  }

  /**
   * Returns the variable for a number: symbolic if it came out of a graph break or if its history shows that it
   * changes.
   */
  #numberFrom(source: Source, value: number, changes: boolean): Variable {
    const symbolic =
      source.kind === 'register' ||
      this.#history.isSymbolic(
        sourceKey(source),
        value,
        changes || this.#changing.isInRegister(source),
      );
    return symbolic ? symbolicFrom(source, value) : { kind: 'constant', value, source };
  }
}

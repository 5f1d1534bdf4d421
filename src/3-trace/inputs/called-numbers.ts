/** Calls of `Math.random()` and of the clock, which every run repeats. */

import type { NumberCall } from '../../../runtime/ops/numbers/number-calls.ts';
import type { ProgramBuilder } from '../../../runtime/program/builder.ts';
import type { ProgramOp } from '../../../runtime/program/program.ts';
import { type CalledNumber, sampleNumbers } from '../../guards/called-numbers.ts';
import { neededNumbers } from '../../guards/needed-numbers.ts';
import { type NumberExpr, numberSources } from '../../guards/number-expr.ts';
import type { Journal } from '../effects/journal.ts';
import type { CallSite } from '../variables/growable-list.ts';
import type { SymbolicVariable } from '../variables/variable.ts';
import type { ProgramNumbers } from './sizes.ts';

interface MadeCall {
  readonly source: CalledNumber;
  readonly site: CallSite;
  /** The number of ops in the program at the call. */
  readonly opCount: number;
}

/** Whether the op does more than make a view. */
const computes = ({ op }: ProgramOp): boolean => op.kernel.kind !== 'view';

/**
 * The number calls of a trace. A run makes clock calls before all ops or after all ops, as in the trace; calls of
 * `Math.random()` must only keep their order.
 */
export class CalledNumbers {
  readonly #calls: MadeCall[] = [];

  get sources(): readonly CalledNumber[] {
    return this.#calls.map(({ source }) => source);
  }

  /** Records a call and returns its result. */
  add(fn: NumberCall, site: CallSite, builder: ProgramBuilder, journal: Journal): SymbolicVariable {
    const index = this.#calls.filter(({ source }) => source.fn === fn).length;
    const after = fn !== 'Math.random' && builder.some(computes);
    const source: CalledNumber = { kind: 'called', fn, index, after };
    journal.keepList(this.#calls);
    this.#calls.push({ source, site, opCount: builder.opCount });
    const value = sampleNumbers[fn];
    return { kind: 'symbolic', expr: { kind: 'source', source }, value, source: null };
  }

  /**
   * Returns a call that a run can make neither before nor after the program: a clock call between two ops, or a
   * call whose value an op depends on.
   */
  misplaced(builder: ProgramBuilder, { scalars, sources }: ProgramNumbers): CallSite | undefined {
    if (this.#calls.length === 0) return undefined;
    const between = this.#calls.find(
      ({ source, opCount }) => source.after && builder.some(computes, opCount),
    );
    if (between) return between.site;
    for (const guard of neededNumbers({ scalars, numbers: sources })) {
      if (guard.kind !== 'number' || typeof guard.value !== 'number') continue;
      const [site] = this.sitesOf(guard.expr);
      if (site) return site;
    }
    return undefined;
  }

  /** Returns the sites of the calls that the number is computed from. */
  sitesOf(expr: NumberExpr): CallSite[] {
    const sources = new Set(numberSources(expr));
    return this.#calls.flatMap(({ source, site }) => (sources.has(source) ? [site] : []));
  }
}

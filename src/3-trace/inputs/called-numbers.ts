/** Calls of `Math.random()` and of the clock: each run makes them again. */

import type { NumberCall } from '../../../runtime/ops/numbers/number-calls.ts';
import type { ProgramBuilder } from '../../../runtime/program/builder.ts';
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
  /** The ops that the program had. */
  readonly opCount: number;
}

/**
 * The calls that a trace has met. A run makes those of the clock that precede all ops before it, and those that follow
 * all ops behind it; of `Math.random()` only the order of its numbers can be told.
 */
export class CalledNumbers {
  readonly #calls: MadeCall[] = [];

  get sources(): readonly CalledNumber[] {
    return this.#calls.map(({ source }) => source);
  }

  /** The result of a call. */
  add(fn: NumberCall, site: CallSite, builder: ProgramBuilder, journal: Journal): SymbolicVariable {
    const index = this.#calls.filter(({ source }) => source.fn === fn).length;
    const after = fn !== 'Math.random' && builder.computes();
    const source: CalledNumber = { kind: 'called', fn, index, after };
    journal.keepList(this.#calls);
    this.#calls.push({ source, site, opCount: builder.opCount });
    const value = sampleNumbers[fn];
    return { kind: 'symbolic', expr: { kind: 'source', source }, value, source: null };
  }

  /** A call that a run can make neither before nor after it: of the clock between two ops, or an op depends on its value. */
  misplaced(builder: ProgramBuilder, { scalars, sources }: ProgramNumbers): CallSite | undefined {
    if (this.#calls.length === 0) return undefined;
    const between = this.#calls.find(
      ({ source, opCount }) => source.after && builder.computes(opCount),
    );
    if (between) return between.site;
    for (const guard of neededNumbers({ scalars, numbers: sources })) {
      if (guard.kind !== 'number' || typeof guard.value !== 'number') continue;
      const [site] = this.sitesOf(guard.expr);
      if (site) return site;
    }
    return undefined;
  }

  /** The sites of the calls that the number is computed from. */
  sitesOf(expr: NumberExpr): CallSite[] {
    const sources = new Set(numberSources(expr));
    return this.#calls.flatMap(({ source, site }) => (sources.has(source) ? [site] : []));
  }
}

import { RecentlyUsed } from '../../runtime/program/recently-used.ts';
import type { Guard } from '../guards/guard.ts';
import { compileState, stateKey } from '../guards/guarded-state.ts';
import type { Frame } from '../vm/bytecode/frame.ts';

/** So many states are remembered. */
const mostStates = 4096;

/** With this many entries for each visit asked of a state, the effort of translating stays a small part of all. */
const entriesPerVisit = 4;

interface Visits {
  count: number;
}

/**
 * The states in which calls came to a point whose many entries didn't fit. A state is what the guards that
 * failed ask about: the length of a list, the keys of a map. One that returns, as the lengths of a cache do
 * with each sequence, is worth an entry of its own; one that never returns is left to eager execution.
 */
export class ReturningStates {
  readonly #telling = new Map<string, (frames: readonly Frame[]) => string>();
  readonly #visits = new RecentlyUsed<string, Visits>(mostStates);

  get isEmpty(): boolean {
    return this.#telling.size === 0;
  }

  /** Notes that `guard` has rejected an entry for a call. True if no guard on the same value has done so before. */
  add(guard: Guard): boolean {
    const key = stateKey(guard);
    if (this.#telling.has(key)) return false;
    this.#telling.set(key, compileState(guard));
    this.#visits.clear();
    return true;
  }

  /** Counts a call in its state; true once the state has come often enough for one more entry. */
  visit(frames: readonly Frame[], entries: number): boolean {
    let state = '';
    for (const read of this.#telling.values()) state += `${read(frames)};`;
    const visits = this.#visits.get(state, () => ({ count: 0 }));
    visits.count++;
    if (visits.count * entriesPerVisit < entries) return false;
    visits.count = 0;
    return true;
  }
}

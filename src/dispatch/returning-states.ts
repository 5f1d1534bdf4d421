import { RecentlyUsed } from '../../runtime/program/recently-used.ts';
import type { Guard } from '../guards/guard.ts';
import { compileState, stateKey } from '../guards/guarded-state.ts';
import type { Frame } from '../vm/bytecode/frame.ts';

/** The most states to remember. */
const mostStates = 4096;

/** Each visit required of a state allows this many entries, so that tracing remains a small part of the work. */
const entriesPerVisit = 4;

interface Visits {
  count: number;
}

/**
 * The states of calls that reached a point and fit none of its many entries. A state is what the failing guards check:
 * the length of a list, the keys of a map. A recurring state, like the lengths of a cache that restart with each
 * sequence, is worth an entry; others run eagerly.
 */
export class ReturningStates {
  readonly #telling = new Map<string, (frames: readonly Frame[]) => string>();
  readonly #visits = new RecentlyUsed<string, Visits>(mostStates);

  get isEmpty(): boolean {
    return this.#telling.size === 0;
  }

  /** Records that `guard` rejected an entry for a call. Returns true if no earlier guard on the same value did. */
  add(guard: Guard): boolean {
    const key = stateKey(guard);
    if (this.#telling.has(key)) return false;
    this.#telling.set(key, compileState(guard));
    this.#visits.clear();
    return true;
  }

  /** Counts a call in its state; returns true once the state has recurred often enough for another entry. */
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

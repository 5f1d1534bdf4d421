import type { Staged } from '../../src/5-optimize/facts/pass.ts';
import { finish, type Steps } from '../../src/programs/steps.ts';

/** The program after a pass, all of its steps done. */
export function after(done: Staged | Steps<Staged>): Staged {
  return 'next' in done ? finish(done) : done;
}

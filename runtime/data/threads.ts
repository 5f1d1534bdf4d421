import { DataError } from '../errors/errors.ts';

/** Returns Node's module of worker threads, imported at run time because pages load this file too. */
export function threads(): typeof import('node:worker_threads') {
  const found = globalThis.process?.getBuiltinModule?.('node:worker_threads');
  if (found) return found;
  throw new DataError({
    what: 'DataLoader: this environment has no worker threads',
    given: 'numWorkers above 0 outside of Node',
    expected: 'Node 20.16 or later',
    remedy: 'leave numWorkers out',
  });
}

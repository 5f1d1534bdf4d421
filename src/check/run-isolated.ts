import { deviceGuard } from '../../runtime/device/current.ts';
import { events } from '../../runtime/memory/events.ts';
import { counting } from '../../runtime/memory/stats.ts';
import { withoutCallTrace } from '../../runtime/ops/core/call-trace.ts';
import { spans } from '../../runtime/profiler/spans.ts';
import { decided } from '../../runtime/run-program/control/decisions.ts';
import { droppingLines } from '../../runtime/run-program/control/lines.ts';
import { outsideTidy } from '../../runtime/tensor/lifetime.ts';
import { traceStream } from '../../runtime/trace-log/stream.ts';

/**
 * Runs `body` isolated from the user's program, outside any device guard and `tidy`: its memory is counted
 * separately, and it leaves no event, span, trace line, console line, kernel count or decision.
 */
export function runIsolated<T>(body: () => T): T {
  const { kernels, op, at, active } = events;
  const before = { apart: counting.apart, spans: spans.active, trace: traceStream.active };
  const decisions = decided.current;
  counting.apart = true;
  spans.active = false;
  traceStream.active = false;
  events.active = false;
  decided.current = null;
  try {
    return outsideTidy(() => withoutCallTrace(() => deviceGuard(null, () => droppingLines(body))));
  } finally {
    counting.apart = before.apart;
    spans.active = before.spans;
    traceStream.active = before.trace;
    Object.assign(events, { kernels, op, at, active });
    decided.current = decisions;
  }
}

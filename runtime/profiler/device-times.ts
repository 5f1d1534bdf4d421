import type { KernelTime } from './recorder.ts';

/** All kernels of one op on one device, timed by the device's clock. Times are milliseconds. */
export interface DeviceTimeRow {
  readonly name: string;
  readonly device: string;
  /** The number of kernels; an op may need several. */
  readonly kernels: number;
  readonly total: number;
  readonly min: number;
  readonly max: number;
  readonly average: number;
  /** Fraction of the time of all kernels. */
  readonly share: number;
}

export function deviceTimeRows(timed: readonly KernelTime[]): DeviceTimeRow[] {
  const groups = new Map<string, { readonly op: string; device: string; times: number[] }>();
  let all = 0;
  for (const { op, device, time } of timed) {
    if (time === null) continue;
    const key = `${device} ${op}`;
    const group = groups.get(key) ?? { op, device, times: [] };
    group.times.push(time);
    groups.set(key, group);
    all += time;
  }
  const rows = [...groups.values()].map(({ op, device, times }): DeviceTimeRow => {
    const total = times.reduce((sum, time) => sum + time, 0);
    return {
      ...{ name: op, device, kernels: times.length, total },
      min: times.reduce((least, time) => Math.min(least, time), Infinity),
      max: times.reduce((most, time) => Math.max(most, time), 0),
      average: total / times.length,
      share: all > 0 ? total / all : 0,
    };
  });
  return rows.sort((a, b) => b.total - a.total);
}

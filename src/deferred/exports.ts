/** The exports of `tostatic/deferred` other than `toStatic`. */

export type { AnyFunction } from '../1-capture/script/route.ts';
export type { StaticFunction, StaticModule, StaticReports } from '../dispatch/capture-targets.ts';
export type { ToStaticOptions } from '../options/static-options.ts';
export type { CapturedStats } from '../stats.ts';
export {
  breakGraph,
  enableToStatic,
  ignoreModule,
  keepLoop,
  notToStatic,
} from '../traces/policy.ts';
export type { DeferredToStatic } from './deferred-to-static.ts';

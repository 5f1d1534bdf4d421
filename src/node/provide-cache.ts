import { builtinModule } from '../1-capture/script/builtin-module.ts';
import { packageVersion } from '../options/package-version.ts';
import { CacheFiles } from '../process-cache/cache-files.ts';
import { PlanFiles } from '../process-cache/plan-files.ts';
import { type ProcessCache, provideCache } from '../process-cache/process-cache.ts';
import { TraceFiles } from '../process-cache/trace-files.ts';

/** Changes whenever searches, traces or the file format change. */
const format = 3;

const opened = new Map<string, ProcessCache>();

function open(folder: string): ProcessCache | undefined {
  const known = opened.get(folder);
  if (known) return known;
  const [files, crypto] = [builtinModule('node:fs'), builtinModule('node:crypto')];
  if (!files || !crypto) return undefined;
  const digest = (text: string) => {
    const key = `${format} ${packageVersion}\n${text}`;
    return crypto.createHash('sha256').update(key).digest('hex').slice(0, 32);
  };
  const inFolder = new CacheFiles(folder, files);
  const cache = {
    plans: new PlanFiles(inFolder, digest),
    traces: new TraceFiles(inFolder, digest),
  };
  opened.set(folder, cache);
  return cache;
}

provideCache(open);

/** The child process of own-process.ts: receives a request, measures, and sends the reply. */

import '../../../runtime/numerics/environment.ts';
import { setDevice } from '../../../runtime/device/current.ts';
import { invariant } from '../../../runtime/errors/invariant.ts';
import { init } from '../../../runtime/init.ts';
import { seed } from '../../../runtime/random/seed.ts';
import { measureVariant, type VariantResult } from '../../lab/compare/measure.ts';
import {
  ablations,
  settingVariant,
  stepVariants,
  type Variant,
  variants,
} from '../../lab/compare/variants.ts';
import { errorText } from '../files/report-error.ts';
import { loadSubject } from './load-subject.ts';
import type { VariantReply, VariantRequest } from './own-process.ts';

async function measure({
  file,
  function: chosen,
  device: name,
  variant,
  ...options
}: VariantRequest): Promise<VariantResult> {
  const device = await init(name);
  setDevice(device);
  // A module may create its model when it is loaded: it must be the same in each process.
  seed(1);
  const { subject } = await loadSubject(file, chosen);
  return measureVariant(await subject(), variantOf(variant), { device, ...options });
}

function variantOf(request: VariantRequest['variant']): Variant {
  if (typeof request !== 'string') return settingVariant(request.title, request.options);
  const variant = [...variants, ...stepVariants, ...ablations].find(({ name }) => name === request);
  invariant(variant !== undefined, `a variant named ${request}`);
  return variant;
}

async function serve(request: VariantRequest): Promise<void> {
  let reply: VariantReply;
  try {
    reply = { kind: 'done', result: await measure(request) };
  } catch (error) {
    reply = { kind: 'failed', message: errorText(error).trimEnd() };
  }
  process.send?.(reply, () => process.disconnect());
}

process.once('message', (request: VariantRequest) => serve(request));
// The parent no longer waits for the result.
process.once('disconnect', () => process.exit());

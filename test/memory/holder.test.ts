import { describe, expect, it } from 'vitest';
import { Holder } from '../../runtime/device/holder.ts';
import { meta } from '../../runtime/device/meta/meta-device.ts';
import { InvariantError } from '../../runtime/errors/invariant.ts';

const { counter } = meta.allocator;

describe('Holder', () => {
  it('is freed by its last owner, once', () => {
    const before = counter.allocated;
    const holder = new Holder(meta, 100);
    expect(counter.allocated - before).toBe(128);
    expect(holder.retain()).toBe(holder);
    expect(holder.owners).toBe(2);
    holder.release();
    expect(counter.allocated - before).toBe(128);
    holder.release();
    expect(counter.allocated).toBe(before);
    expect(() => holder.release()).toThrow(InvariantError);
    expect(() => holder.retain()).toThrow('retain of a freed holder');
  });

  it('of nothing takes no memory', () => {
    const before = counter.allocations;
    const holder = new Holder(meta, 0);
    expect(holder.ptr).toBe(0);
    holder.release();
    expect(counter.allocations).toBe(before);
  });
});

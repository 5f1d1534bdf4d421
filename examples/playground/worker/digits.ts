import { ImageDataset } from '../../../runtime/data/image-dataset.ts';

/** Digits for training and for testing. */
export interface Digits {
  readonly train: ImageDataset;
  readonly test: ImageDataset;
}

const pixels = 28 * 28;

/** Fetches the file made by the build (`digits-asset.ts`): counts, then training and test images with their labels. */
export async function fetchDigits(address: string): Promise<Digits> {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`${address}: ${response.status} ${response.statusText}`);
  const bytes = new Uint8Array(await response.arrayBuffer());
  const [trained, tested] = new Uint32Array(bytes.slice(0, 8).buffer) as unknown as [
    number,
    number,
  ];
  let offset = 8;
  const take = (count: number): Uint8Array => {
    offset += count;
    return bytes.subarray(offset - count, offset);
  };
  const set = (count: number) => new ImageDataset(take(count * pixels), take(count));
  return { train: set(trained), test: set(tested) };
}

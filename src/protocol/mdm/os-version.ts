const VERSION = /^\d{1,9}(\.\d{1,9}){0,3}$/;

/**
 * Negative when `a` is the older version, 0 when they are the same (`17` is `17.0`), positive when
 * `a` is newer; undefined when one of them is no dotted number.
 */
export function compareOsVersions(a: string, b: string): number | undefined {
  const [left, right] = [partsOf(a), partsOf(b)];
  if (left === undefined || right === undefined) return undefined;
  for (let index = 0; index < Math.max(left.length, right.length); index += 1) {
    const difference = (left[index] ?? 0) - (right[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

function partsOf(version: string): number[] | undefined {
  return VERSION.test(version) ? version.split('.').map(Number) : undefined;
}

/**
 * Attributes of a resource to create. The API document names those that are required apart from the
 * others, which the generated types take for an object without members.
 */
export function asNew<A extends object>(attributes: A): A & Record<string, never> {
  return attributes as A & Record<string, never>;
}

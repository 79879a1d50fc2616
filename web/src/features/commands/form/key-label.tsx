import type { Key } from './keys';
import { wordsOf } from './words-of';

/** Apple's name in words, and as its documentation has it. They sound alike. */
export function KeyLabel({ name }: Pick<Key, 'name'>) {
  const words = wordsOf(name);
  return (
    <>
      {words}
      {words !== name && (
        <code className="key-name" aria-hidden="true">
          {name}
        </code>
      )}
    </>
  );
}

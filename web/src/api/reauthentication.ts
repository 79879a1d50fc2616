/** A sign-in of the last minutes is asked for, or the session has ended. */
export type Occasion = 'recent' | 'ended';
type Prompt = (occasion: Occasion) => Promise<boolean>;

let prompt: Prompt | undefined;
let asked: Promise<boolean> | undefined;

/** The shell says how it asks; returns how to take that back. */
export function onReauthentication(ask: Prompt): () => void {
  prompt = ask;
  return () => {
    prompt = undefined;
  };
}

/** True when the person has signed in again. Requests that need it at the same time ask once. */
export async function signInAgain(occasion: Occasion): Promise<boolean> {
  if (prompt === undefined) return false;
  asked ??= prompt(occasion).finally(() => {
    asked = undefined;
  });
  return asked;
}

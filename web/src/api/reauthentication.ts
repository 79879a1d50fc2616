type Prompt = () => Promise<boolean>;

let prompt: Prompt | undefined;

/** The shell says how it asks; returns how to take that back. */
export function onReauthentication(ask: Prompt): () => void {
  prompt = ask;
  return () => {
    prompt = undefined;
  };
}

/** True when the person has signed in again. */
export async function signInAgain(): Promise<boolean> {
  return prompt === undefined ? false : prompt();
}

import { useMutation } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { ApiError } from '../api/client.js';
import { text } from '../text/en.js';
import { type Credential, signIn } from './session.js';
import './sign-in.css';

const words = text.session;

export function SignIn({ onSignedIn }: { onSignedIn: () => void }) {
  const { mutate, isPending, error, variables } = useMutation({
    mutationFn: signIn,
    onSuccess: onSignedIn,
  });
  const isSpent = useRef(false);
  useEffect(() => {
    const secret = location.hash.slice(1);
    if (location.pathname !== '/sign-in' || secret === '' || isSpent.current) return;
    isSpent.current = true;
    // The secret stays neither in the address bar nor in the history.
    history.replaceState(null, '', '/sign-in');
    mutate({ link_secret: secret });
  }, [mutate]);
  const submit = (data: FormData) => mutate({ token: String(data.get('token')) });
  return (
    <main className="sign-in">
      <h1>{words.title}</h1>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          submit(new FormData(event.currentTarget));
        }}
      >
        <label>
          {words.token}
          <input name="token" type="password" autoComplete="current-password" required />
        </label>
        {error !== null && <p role="alert">{messageOf(error, variables)}</p>}
        <button type="submit" data-kind="primary" disabled={isPending}>
          {isPending ? words.signingIn : words.signIn}
        </button>
      </form>
      <p>{words.hint}</p>
    </main>
  );
}

/** The server's answer to a wrong token is for programs; that to a link says what became of it. */
function messageOf(error: Error, sent: Credential | undefined): string {
  const isRefused = error instanceof ApiError && error.status === 401;
  return isRefused && sent !== undefined && 'token' in sent ? words.refused : error.message;
}

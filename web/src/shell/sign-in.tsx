import { type FormEvent, useEffect, useState } from 'react';
import { text } from '../text/en';
import { Button } from '../ui/button';
import { Field } from '../ui/field';
import { Notice } from '../ui/notice';
import { tokenFault, useForgetting, useSignIn } from './session';
import './sign-in.css';

/** The secret of a sign-in link: in the fragment, so that it reaches no log. Taken once. */
function takeSecret(): string | undefined {
  if (location.pathname !== '/sign-in' || location.hash.length < 2) return undefined;
  const secret = location.hash.slice(1);
  history.replaceState(history.state, '', '/sign-in');
  return secret;
}

export function SignIn() {
  const [token, setToken] = useState('');
  const signIn = useSignIn();
  useForgetting();
  const { mutate } = signIn;
  useEffect(() => {
    document.title = text.signIn.title;
    const secret = takeSecret();
    if (secret !== undefined) mutate({ link_secret: secret });
  }, [mutate]);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (token.trim() !== '') mutate({ token: token.trim() });
  };
  const byLink = signIn.variables !== undefined && 'link_secret' in signIn.variables;
  return (
    <main className="sign-in">
      <form className="sign-in-box" onSubmit={submit}>
        <h1>{text.signIn.title}</h1>
        {byLink && signIn.isPending && <p role="status">{text.signIn.link}</p>}
        {byLink && signIn.error !== null && (
          <Notice tone="bad" title={text.signIn.linkFailed}>
            <p>{signIn.error.message}</p>
          </Notice>
        )}
        <Field
          label={text.signIn.token}
          type="password"
          autoComplete="current-password"
          value={token}
          onChange={setToken}
          hint={text.signIn.hint}
          error={byLink ? undefined : tokenFault(signIn.error)}
        />
        <Button kind="main" type="submit" isPending={signIn.isPending}>
          {text.signIn.submit}
        </Button>
      </form>
    </main>
  );
}

import { type FormEvent, useEffect, useRef, useState } from 'react';
import { onReauthentication } from '../api/reauthentication';
import { text } from '../text/en';
import { Button } from '../ui/button';
import { Dialog } from '../ui/dialog';
import { Field } from '../ui/field';
import { tokenFault, useSignIn } from './session';

/** Asks for the token where the API wants a recent sign-in; the request is then repeated. */
export function SignInAgain() {
  const [isOpen, setOpen] = useState(false);
  const [token, setToken] = useState('');
  const answer = useRef<(signedIn: boolean) => void>(() => undefined);
  const signIn = useSignIn();
  useEffect(
    () =>
      onReauthentication(() => {
        setOpen(true);
        return new Promise((resolve) => {
          answer.current = resolve;
        });
      }),
    [],
  );
  const close = (signedIn: boolean) => {
    setOpen(false);
    setToken('');
    answer.current(signedIn);
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    signIn.mutate({ token: token.trim() }, { onSuccess: () => close(true) });
  };
  return (
    <Dialog title={text.signIn.again} isOpen={isOpen} onClose={() => close(false)}>
      <p>{text.signIn.againWhy}</p>
      <form onSubmit={submit}>
        <Field
          label={text.signIn.token}
          type="password"
          autoComplete="current-password"
          value={token}
          onChange={setToken}
          error={tokenFault(signIn.error)}
        />
        <div className="dialog-buttons">
          <Button onPress={() => close(false)}>{text.signIn.cancel}</Button>
          <Button kind="main" type="submit" isPending={signIn.isPending}>
            {text.signIn.submit}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

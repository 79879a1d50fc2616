import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { ME_KEY, type Me } from '../api/me';
import { type Occasion, onReauthentication } from '../api/reauthentication';
import { text } from '../text/en';
import { Button } from '../ui/button';
import { Dialog } from '../ui/dialog';
import { Field } from '../ui/field';
import { tokenFault, useSignIn } from './session';

/**
 * Asks for the token where the API wants a recent sign-in or the session has ended; the request is then
 * repeated. Who does not want that after the end of the session gets the page that signs in.
 */
export function SignInAgain({ me }: { me: Me | undefined }) {
  const [occasion, setOccasion] = useState<Occasion>();
  const [token, setToken] = useState('');
  const answer = useRef<(signedIn: boolean) => void>(() => undefined);
  const queries = useQueryClient();
  const signIn = useSignIn();
  useEffect(
    () =>
      onReauthentication((asked) => {
        setOccasion(asked);
        return new Promise((resolve) => {
          answer.current = resolve;
        });
      }),
    [],
  );
  const close = (signedIn: boolean) => {
    setOccasion(undefined);
    setToken('');
    signIn.reset();
    answer.current(signedIn);
  };
  const cancel = () => {
    close(false);
    if (occasion === 'ended') queries.setQueryData(ME_KEY, null);
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    // What one person has read and filled in is not for another one.
    const finish = (next: Me | null) =>
      next?.name === me?.name && next?.role === me?.role ? close(true) : location.reload();
    signIn.mutate({ token: token.trim() }, { onSuccess: finish });
  };
  const isEnded = occasion === 'ended';
  return (
    <Dialog
      title={text.signIn.again}
      isOpen={occasion !== undefined}
      isOpaque={isEnded}
      onClose={cancel}
    >
      <p>{isEnded ? text.signIn.endedWhy : text.signIn.againWhy}</p>
      <form onSubmit={submit}>
        <Field
          label={text.signIn.token}
          type="password"
          autoComplete="current-password"
          value={token}
          onChange={setToken}
          error={tokenFault(signIn.error)}
          autoFocus
        />
        <div className="dialog-buttons">
          <Button onPress={cancel}>{isEnded ? text.signIn.out : text.signIn.cancel}</Button>
          <Button kind="main" type="submit" isPending={signIn.isPending}>
            {text.signIn.submit}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

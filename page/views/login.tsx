import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';

export function Login(props: {
  readonly why: string | null;
  readonly onToken: (token: string) => void;
}): JSX.Element {
  const field = useRef<HTMLInputElement>(null);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        const token = field.current?.value.trim() ?? '';
        if (token !== '') props.onToken(token);
      }}
    >
      <p>This cell asks who you are. An operator makes a token: moorage token create NAME --scope read</p>
      {props.why === null ? null : (
        <p class="notice bad" role="alert">
          <strong>Error: </strong>
          {props.why}
        </p>
      )}
      <label>
        Token
        <input ref={field} type="password" name="token" autocomplete="off" spellcheck={false} required />
      </label>
      <p class="hint">It is kept until this tab is closed.</p>
      <button type="submit" class="strong">
        Sign in
      </button>
    </form>
  );
}

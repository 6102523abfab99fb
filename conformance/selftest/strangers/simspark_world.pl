# The world of simspark_server.pl: its game, its commands and its scene.
use strict;
use warnings;

our ($STEP, $shape, @agents, @monitors, %state, %switch, $selected);
our @MODES = qw(BeforeKickOff KickOff_Left KickOff_Right PlayOn GameOver);
our @KEYS = qw(time half score_left score_right play_mode);
our $ENVIRONMENT = '(FieldLength 30)(FieldWidth 20)(FieldHeight 40)(GoalWidth 2.1)(GoalDepth 0.6)'
    . '(GoalHeight 0.8)(FreeKickDistance 2)(WaitBeforeKickOff 30)(AgentRadius 0.4)'
    . '(BallRadius 0.042)(BallMass 0.026)(RuleGoalPauseTime 3)(RuleKickInPauseTime 1)'
    . "(RuleHalfTime 300)(play_modes @MODES)";

our (@ball, @velocity) = (0, 0, 0.042);
%state = (time => 0, half => 1, score_left => 0, score_right => 0, play_mode => 0);

sub parse {      # the expressions of a text as nested arrays, or undef
    my @open = ([]);
    for my $word (shift =~ /[()]|[^()\s]+/g) {
        if ($word eq '(') { push @open, [] }
        elsif ($word ne ')') { push @{ $open[-1] }, $word }
        elsif (@open == 1) { return undef }
        else { my $list = pop @open; push @{ $open[-1] }, $list }
    }
    return @open == 1 ? $open[0] : undef;
}

sub part {       # the values of a named part of a list, or undef
    my ($list, $name) = @_;
    for (@$list) {
        return [@$_[1 .. $#$_]] if ref && @$_ > 1 && !ref $_->[0] && $_->[0] eq $name;
    }
    return $switch{'die-optional'} ? () : undef;
}

sub numbers {    # so many numbers, or undef
    my ($values, $count) = @_;
    return undef if !$values || @$values < $count;
    my @found = @$values[0 .. $count - 1];
    return undef if grep { ref || !/^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i || abs > 1e9 } @found;
    return [map { 0 + $_ } @found];
}

sub within { my ($value, $most) = @_; return $value > $most ? $most : $value < -$most ? -$most : $value }

sub named {
    my $list = shift;
    my ($unum, $team) = (scalar part($list, 'unum'), scalar part($list, 'team'));
    return undef if !$unum || !$team;
    return (grep { $_->{body} && $_->{unum} eq $unum->[0] && $_->{side} eq $team->[0] } @agents)[0];
}

sub chosen {     # the named agent, or without a complete name the selected one
    my $list = shift;
    return named($list) if scalar part($list, 'unum') && scalar part($list, 'team');
    return $selected && $selected->{body} ? $selected : undef;
}

sub place_ball { @ball = @_; @velocity = (0, 0, 0) }

our %COMMANDS = (
    agent => sub {
        my $agent = named($_[0]) or return;
        my ($pos, $move) = (numbers(part($_[0], 'pos'), 3), numbers(part($_[0], 'move'), 4));
        $agent->{at} = $pos if $pos;
        @$agent{qw(at turn)} = ([@$move[0 .. 2]], $move->[3] / 57.29578) if $move;
    },
    ball => sub {
        my ($pos, $vel) = (numbers(part($_[0], 'pos'), 3), numbers(part($_[0], 'vel'), 3));
        place_ball(@$pos) if $pos;
        @velocity = @$vel if $vel;
    },
    playMode => sub {
        my ($mode) = grep { $MODES[$_] eq ($_[0][1] // '') } 0 .. $#MODES;
        $state{play_mode} = $mode // $state{play_mode};
    },
    dropBall => sub {
        place_ball(within($ball[0], 15), within($ball[1], 10), 0.042);
        for (grep { $_->{body} } @agents) {
            my ($x, $y) = ($_->{at}[0] - $ball[0], $_->{at}[1] - $ball[1]);
            my $far = sqrt($x * $x + $y * $y) || 1e-9;
            my $to = 2.05 / $far;
            $_->{at} = [$ball[0] + ($x || 1e-9) * $to, $ball[1] + $y * $to, $_->{at}[2]] if $far < 2;
        }
        $state{play_mode} = 3;
    },
    kickOff => sub {
        my %mode = (Left => 1, Right => 2, None => 1 + int rand 2);
        $state{play_mode} = $mode{ $_[0][1] // '' } // return;
        place_ball(0, 0, 0.042);
    },
    select => sub {
        my $agent = named($_[0]);
        my @bodies = grep { $_->{body} } @agents;
        my ($at) = grep { $selected && $bodies[$_] == $selected } 0 .. $#bodies;
        return $selected = $agent if $agent;
        return if scalar part($_[0], 'unum') && scalar part($_[0], 'team') || !@bodies;
        $selected = $bodies[defined $at ? ($at + 1) % @bodies : 0];
    },
    kill => sub {
        my $agent = chosen($_[0]) or return;
        $agent->{body} = 0;
        $shape++ if !$switch{'no-full-after-kill'};
    },
    repos => sub {
        my $agent = chosen($_[0]) or return;
        $agent->{at} = [($agent->{side} eq 'Left' ? -1 : 1) * (7 - $agent->{unum}), 10.5, 0.4];
    },
    time => sub {
        my $time = numbers([$_[0][1]], 1) or return;
        $state{time} = $time->[0] if $time->[0] >= 0;
    },
    score => sub {
        my ($left, $right) = (numbers(part($_[0], 'left'), 1), numbers(part($_[0], 'right'), 1));
        return if !$left || !$right || $left->[0] < 0 || $right->[0] < 0;
        @state{qw(score_left score_right)} = (int $left->[0], int $right->[0]);
    },
    reqfullstate => sub { $_->{shape} = -1 for @monitors },
);

1;

# The agents of simspark_server.pl, and all messages that the server sends.
use strict;
use warnings;

our ($STEP, $shape, @agents, @monitors, %state, %switch);
our (@MODES, @KEYS, $ENVIRONMENT, @ball, @velocity, %COMMANDS);
my ($now, %side_of) = (0);    # the time of the simulation, and the side of each team
@velocity = (0, 0, 0);

my %EFFECTORS = (
    scene => sub {
        my $agent = shift;
        return if $agent->{model}++;
        @$agent{qw(body at turn unum)} = (1, [0, 11, 0.4], 0, 0);
        $agent->{hinges} = { hj1 => { angle => 0, speed => 0 }, hj2 => { angle => 0, speed => 0 } };
        $shape++;
    },
    init => sub {
        my ($agent, $list) = @_;
        my $team = part($list, 'teamname');
        my $unum = numbers(scalar part($list, 'unum'), 1);
        return if !$agent->{model} || $agent->{unum} || !$team;
        my $side = $side_of{ $team->[0] } // (qw(Left Right))[scalar keys %side_of];
        return if !$side;
        $side_of{ $team->[0] } = $side;
        my %taken = map { $_->{unum} => 1 } grep { ($_->{side} // '') eq $side } @agents;
        my ($free) = grep { !$taken{$_} } $unum && $unum->[0] ? $unum->[0] : 1 .. 11;
        return if !$free || $free > 11;
        @$agent{qw(unum side)} = ($free, $side);
        $agent->{at} = [$side eq 'Left' ? -$free : $free, 8, 0.4];
        $shape++;
    },
    say => sub {
        my ($agent, $list) = @_;
        push @{ $agent->{said} }, $list->[1] if defined $list->[1] && !ref $list->[1];
    },
);

sub execute {                 # returns false if the peer is to be dismissed
    my ($peer, $text) = @_;
    for my $list (grep { ref && @$_ } @{ parse($text) // [] }) {
        my ($name) = @$list;
        next if ref $name;
        if ($peer->{kind} eq 'monitor') {
            return 0 if $switch{'close-unknown'} && !$COMMANDS{$name};
            $COMMANDS{$name}->($list) if $COMMANDS{$name};
        } elsif ($EFFECTORS{$name}) {
            $EFFECTORS{$name}->($peer, $list);
        } elsif (my $hinge = $peer->{hinges}{ $name =~ s/e/j/r }) {
            my $speed = numbers([$list->[1]], 1);
            $hinge->{speed} = within($speed->[0], 6) if $speed;
        }
    }
    return 1;
}

sub step {
    $now += $STEP;
    my $playing = $state{play_mode} != 0 && $state{play_mode} != $#MODES;
    $state{time} = 0 + sprintf '%.2f', $state{time} + $STEP if $playing;
    if ($playing && $state{time} >= 300 * $state{half}) {
        $state{play_mode} = $state{half} == 1 ? 0 : $#MODES;
        $state{half} = 2;
    }
    $ball[$_] += $velocity[$_] * $STEP for 0 .. 2;
    if ($ball[2] > 0.042) {
        $velocity[2] -= 9.81 * $STEP;
    } else {
        $ball[2] = 0.042;
        @velocity = ($velocity[0] * 0.985, $velocity[1] * 0.985, 0);
    }
    my @said = map { my $agent = $_; map { [$agent, $_] } splice @{ $agent->{said} } } @agents;
    perceive($_, @said) for grep { $_->{unum} } @agents;
}

sub perceive {                # each perceptor is a message of its own
    my ($agent, @said) = @_;
    my $game = "(unum $agent->{unum}) (team \l$agent->{side}) (t $state{time})";
    post($agent, sprintf '(time (now %.2f))', $now);
    post($agent, "(GS $game (pm $MODES[$state{play_mode}]))");
    for (@said) {
        my ($speaker, $word) = @$_;
        post($agent, "(hear $state{time} " . ($speaker == $agent ? 'self' : '-12.5') . " $word)");
    }
    for my $name (sort keys %{ $agent->{hinges} }) {
        my $hinge = $agent->{hinges}{$name};
        $hinge->{angle} = within($hinge->{angle} + $hinge->{speed} * $STEP * 57.29578, 120);
        post($agent, sprintf '(HJ (n %s) (ax %.2f))', $name, $hinge->{angle});
    }
}

sub transform {
    my ($turn, @at) = @_;
    my ($c, $s) = (cos $turn, sin $turn);
    return sprintf '(SLT' . ' %.6g' x 16 . ')', $c, $s, 0, 0, -$s, $c, 0, 0, 0, 0, 1, 0, @at, 1;
}

sub nodes {                   # of each node: type, transform, children, and children of an update
    my $light = '(setDiffuse 1 1 1 1)(setAmbient .5 .5 .5 1)(setSpecular 1e-1 1e-1 1e-1 1)';
    my $ball = '(nd StaticMesh (load models/soccerball.obj) (sSc 1 1 1)(resetMaterials white))';
    my @nodes = (['Light', '', $light, ''], ['TRF', transform(0, @ball), $ball, '(nd)']);
    for my $agent (grep { $_->{body} } @agents) {
        my $body = "(load models/naobody.obj) (sSc .1 .1 .1)(resetMaterials matNum$agent->{unum})";
        my $leg = '(load StdUnitCylinder 0.5 0.1) (sSc 1 1 1)(sMat matGrey)';
        my $at = transform($agent->{turn}, @{ $agent->{at} });
        push @nodes, ['TRF', $at, "(nd StaticMesh $body)(nd SMN $leg)", '(nd)(nd)'];
    }
    return @nodes;
}

sub show {
    my @nodes = nodes();
    for my $monitor (@monitors) {
        my $seen = $monitor->{seen} //= {};
        my $introduced = $monitor->{introduced}++;
        my $full = $introduced < 2 || $monitor->{shape} != $shape;
        my @news = grep { $_ eq 'time' || $full || $seen->{$_} ne $state{$_} } @KEYS;
        shift @news if $switch{'no-still-time'} && !$full && $seen->{time} eq $state{time};
        my $head = $introduced ? join '', map { "($_ $state{$_})" } @news : $ENVIRONMENT;
        my $graph = '';
        for my $at (0 .. $#nodes) {
            my ($type, $slt, $children, $empty) = @{ $nodes[$at] };
            my $moved = $slt ne ($seen->{$at} // '') ? $slt : '';
            $graph .= $full ? "(nd $type $slt$children)" : "(nd$moved$empty)";
        }
        my $sent = post($monitor, "($head)(" . ($full ? 'RSG' : 'RDS') . " 0 1)($graph)");
        $monitor->{shape} = $sent ? $shape : -1;
        %$seen = (%state, map { $_ => $nodes[$_][1] } 0 .. $#nodes);
    }
}

1;
